"""Lines for a keyboard: broken between words, and set in behind the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

#: So far is set in what a line goes on with: only what begins at the edge is a line of ours.
_SET_IN: Final = 2
#: Narrower than this a line is left to the terminal: hardly two words would fit into a piece.
_NARROWEST: Final = 16
#: What is longer is left to it as well: counting its columns would hold up all others.
_LONGEST: Final = 40_000


def folded(line: str, width: int) -> Iterator[str]:
    """Yield one line in pieces of at most `width` columns.

    A longer word stays whole, and the terminal breaks it: what is copied from there is one id.
    """
    words = line.lstrip(" ")
    indent = len(line) - len(words)
    room = width - indent - _SET_IN
    if len(line) > _LONGEST or room < _NARROWEST or cell_len(line) <= width:
        yield line
        return
    first, *more = _pieces(words, room)
    yield " " * indent + first
    yield from (" " * (indent + _SET_IN) + piece for piece in more)


def _pieces(words: str, room: int) -> Iterator[str]:
    piece, *rest = words.split(" ")
    for word in rest:
        longer = f"{piece} {word}"
        if cell_len(longer) <= room:
            piece = longer
            continue
        yield piece
        piece = word
    yield piece
