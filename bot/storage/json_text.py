"""JSON as it stands in a column: what is read equals what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson


def dump(value: Any) -> str:
    """Write a JSON value as text.

    A leading blank marks what orjson cannot hold (integers beyond 64 bits, lone surrogates), so
    that `load` reads it with the reader that can. Raises TypeError for what is not JSON.
    """
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:
        return " " + json.dumps(value, default=_plain)


def load(text: str) -> Any:
    """Read what `dump` wrote."""
    return json.loads(text) if text.startswith(" ") else orjson.loads(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
