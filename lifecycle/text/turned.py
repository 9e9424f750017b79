"""Find the orders in which a text is shown that invisible direction signs turn around."""

from __future__ import annotations

import re
from typing import Final

#: An override turns the letters. A right-to-left mark turns the pieces on both its sides, and a
#: right-to-left embedding or isolate turns the pieces inside.
_LETTERS_TURN: Final = "\u202b\u202e\u2067"
_PIECES_TURN: Final = re.compile("[\u061c\u200f\u202b\u2067]")
_TURNED_LETTERS: Final = re.compile(f"([{_LETTERS_TURN}])([^\u202a-\u202e\u2066-\u2069\n]*+)")
_TURNED_PIECES: Final = re.compile("([\u202b\u2067])([^\u202b\u202c\u2067\u2069\n]*+)")
_OVERRIDE: Final = re.compile("\u202e([^\u202a-\u202e\u2066-\u2069\n]*+)")
#: The signs between two pieces: marks, embeddings and isolates of either direction.
_BETWEEN: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
SIGNS: Final = f"\u061c\u200f{_LETTERS_TURN}"


def overridden(text: str) -> str:
    """Return the text with the letters of each override in the order in which they are shown."""
    return _OVERRIDE.sub(lambda found: found[1][::-1], text)


def turned(text: str) -> tuple[str, ...]:
    """Return the text in the orders in which it may be shown; none if no sign turns anything.

    Turned are whole letters of a stretch (a mark may stand behind each of them), pieces of it, or
    pieces of a line whose first sign makes all of it run from right to left. This is coarser than
    the algorithm of Unicode: to find a word too many costs less than to miss a hidden one.
    """
    by_letters = _TURNED_LETTERS.sub(lambda found: found[1] + found[2][::-1], text)
    ways = [by_letters]
    if _PIECES_TURN.search(text):
        for way in dict.fromkeys((text, by_letters)):
            ways.append(_TURNED_PIECES.sub(lambda found: found[1] + _from_right(found[2]), way))
            ways.append("\n".join(map(_line, way.split("\n"))))
    return tuple(way for way in dict.fromkeys(ways) if way != text)


def _line(line: str) -> str:
    return _from_right(line) if _PIECES_TURN.search(line) else line


def _from_right(text: str) -> str:
    return "".join(map(_mirrored, reversed(_BETWEEN.split(text))))


def _mirrored(piece: str) -> str:
    """Return a piece with its letters kept, and the blanks of each end moved to the other end."""
    core = piece.strip()
    if not core:
        return piece
    before, _, after = piece.partition(core)
    return after + core + before
