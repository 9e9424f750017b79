"""Writes moments and spans of time in words: absolute in UTC first, relative beside it."""

from __future__ import annotations

import re
from typing import Final

from lifecycle.moment import clock_words

_SPAN: Final = re.compile(r" \((?:in [^()]*|[^()]* ago|now)\)$")
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def moment_words(at_ms: int) -> str:
    """Return a moment like `2026-03-02 12:23:00 UTC`."""
    return clock_words(at_ms)


def about(at_ms: int, now_ms: int) -> str:
    """Return how far away a moment is, in its two largest units: `in 23 h 59 min`, `2 s ago`."""
    seconds = abs(at_ms - now_ms) // 1000
    if seconds == 0:
        return "now"
    words: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or words:
            words.append((count, unit))
    span = " ".join(f"{number} {unit}" for number, unit in words[:2] if number)
    return f"in {span}" if at_ms > now_ms else f"{span} ago"


def without_span(text: str) -> str:
    """Return words that name a moment without the ` (in 15 min)` behind it."""
    return _SPAN.sub("", text)


def span_words(seconds: int) -> str:
    """Return a length of time as an adjective: `15-min`, `2-h`, `90-s`."""
    unit, size = next((each for each in _UNITS if seconds and seconds % each[1] == 0), ("s", 1))
    return f"{seconds // size}-{unit}"
