"""What a tool printed or answered, read as a receipt: nothing that it says of itself is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

LARGEST_RECEIPT: Final = 1_048_576
#: Longer whole numbers than any that is kept as one: Python refuses to read very long ones, and
#: with them all else that stands beside them.
_MOST_DIGITS: Final = 20


def receipt_in(data: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object of at most 1 MiB that these bytes are; None where they are none.

    Empty where there is nothing. Of a key that stands there more than once every value is kept, in
    a list: which of them counts nobody knows, and a number of records or a list of what still
    stands that is told twice must not be taken for the smaller one.
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
