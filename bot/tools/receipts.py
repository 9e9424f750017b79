"""Reads what a tool printed or answered as a receipt, so that nothing it says of itself is lost.

Command tools and webhooks call it on the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

LARGEST_RECEIPT: Final = 1_048_576
#: Integers with more characters are kept as text. None so long is kept as a number anyway, and if
#: Python refuses to read a very long one, the whole receipt is lost with it.
_MOST_DIGITS: Final = 20


def receipt_in(data: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object in these bytes, `{}` if they are blank, None if they are no JSON
    object or more than 1 MiB.

    If a key occurs more than once, all its values are kept in a list, because nobody knows which of
    them counts. If a number of records, or what still stands, is told twice, the smaller value must
    not be taken.
    """
    if len(data) > LARGEST_RECEIPT:
        return None
    if not data.strip():
        return {}
    try:
        receipt = json.loads(data, object_pairs_hook=_fields, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return receipt if isinstance(receipt, dict) else None


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    told: dict[str, list[Any]] = {}
    for key, value in pairs:
        told.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in told.items()}


def _integer(literal: str) -> int | str:
    return int(literal) if len(literal) <= _MOST_DIGITS else literal
