"""Breaks lines for a keyboard between words, and sets in all pieces behind the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

#: Later pieces of a line are set in by so much: only a line of ours begins at the edge.
_SET_IN: Final = 2
#: If a piece would be narrower, the line is left to the terminal: hardly two words would fit.
_NARROWEST: Final = 16
#: A longer line is left to it as well: counting its columns would block the loop.
_LONGEST: Final = 40_000
#: Characters that look like a space: broken at one, what follows might look like a line of ours.
_BLANK: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164]")


def folded(line: str, width: int) -> Iterator[str]:
    """Yield one line in pieces of at most `width` columns.

    A longer word stays whole for the terminal to break, so that an id can be copied in one piece.
    In a line that is broken, each blank becomes a space, and tabs are expanded: behind a tab a
    terminal would go on at the edge.
    """
    line = line.expandtabs()
    if len(line) > _LONGEST or width < _SET_IN + _NARROWEST or cell_len(line) <= width:
        yield line
        return
    line = _BLANK.sub(" ", line)
    words = line.lstrip(" ")
    # A deeper indent would leave no room for the later pieces.
    indent = min(len(line) - len(words), width - _SET_IN - _NARROWEST)
    room = width - indent - _SET_IN
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
