"""Writes and reads JSON for a column, so that the value read equals the value written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson


def dump(value: Any) -> str:
    """Return a JSON value as text.

    A leading blank marks a value that orjson cannot hold (integers beyond 64 bits, lone
    surrogates), so that `load` reads it with the standard library. Raises TypeError for what is
    not JSON.
    """
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:
        return " " + json.dumps(value, default=_plain)


def load(text: str) -> Any:
    """Return the value that `dump` wrote. Raises ValueError for text that is not JSON, or that is
    nested deeper than can be read, and TypeError for what is no text."""
    if not text.startswith(" "):
        return orjson.loads(text)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
