"""Compile RE2 patterns, which take linear time whatever an operator or an agent wrote."""

from __future__ import annotations

from typing import Any, Final

import re2

_MOST_MEMORY: Final = 32 << 20


class BadPattern(ValueError):
    """The pattern is not one that RE2 can read."""


def compiled(pattern: str) -> Any:
    """Return the compiled pattern.

    Raises BadPattern with RE2's own words, which name the place.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadPattern(_words_of(error)) from None


def _words_of(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
