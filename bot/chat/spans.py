"""Moments and spans of time in words: absolute in UTC first, relative beside it."""

from __future__ import annotations

from typing import Final

from lifecycle.moment import clock_words

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def moment_words(at_ms: int) -> str:
    """Return `2026-03-02 12:23:00 UTC`."""
    return clock_words(at_ms)


def about(at_ms: int, now_ms: int) -> str:
    """Return how far away a moment is: `in 15 min`, `3 h ago`, `now`."""
    seconds = abs(at_ms - now_ms) // 1000
    if seconds == 0:
        return "now"
    unit, size = next(each for each in _UNITS if seconds >= each[1])
    count = f"{seconds // size} {unit}"
    return f"in {count}" if at_ms > now_ms else f"{count} ago"


def span_words(seconds: int) -> str:
    """Return a length of time as an adjective: `15-min`, `2-h`, `90-s`."""
    unit, size = next((each for each in _UNITS if seconds and seconds % each[1] == 0), ("s", 1))
    return f"{seconds // size}-{unit}"
