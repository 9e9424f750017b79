"""Lines for a keyboard: broken between words, and set in behind the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

#: So far is set in what a line goes on with: only what begins at the edge is a line of ours.
_SET_IN: Final = 2
#: Narrower than this a line is left to the terminal: hardly two words would fit into a piece.
_NARROWEST: Final = 16
#: What is longer is left to it as well: counting its columns would hold up all others.
_LONGEST: Final = 40_000
#: What is seen as a space: what stands behind one may look like a line of its own.
_BLANK: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164]")


def folded(line: str, width: int) -> Iterator[str]:
    """Yield one line in pieces of at most `width` columns.

    A longer word stays whole, and the terminal breaks it: what is copied from there is one id.
    Where it is broken, each blank is a space: a terminal goes on behind a tab at the edge, too.
    """
    line = line.expandtabs()
    if len(line) > _LONGEST or width < _SET_IN + _NARROWEST or cell_len(line) <= width:
        yield line
        return
    line = _BLANK.sub(" ", line)
    words = line.lstrip(" ")
    # What is set in further than that would leave no room for what goes on.
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
