"""Finds the nearest known name, to tell somebody what they probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: Comparing is quadratic, and nobody misspells a name into a page of text.
_LONGEST_NAME: Final = 64


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, None if none is like it."""
    if len(name) > _LONGEST_NAME:
        return None
    by_folded = {each.casefold(): each for each in sorted(known, reverse=True)}
    found = get_close_matches(name.strip().casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def meant(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with the nearest known name, or an empty text."""
    found = nearest(name, known)
    return f" Did you mean {found}?" if found else ""
