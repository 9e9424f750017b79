"""Draws tables for a keyboard if no word has to be broken; else they are left to plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.table import Table as Drawn
from rich.text import Text

from bot.chat.commands.replies import Table

#: Only longer words, such as an address, may be broken; an id in the first column never is.
_LONGEST_WHOLE: Final = 24
#: Each column has a space on both sides and a gap behind it; one more stands before the first.
_BESIDE_A_COLUMN: Final = 3


def drawn(table: Table, width: int) -> Drawn | None:
    """Return the table, at most `width` columns wide; None if it would break words."""
    columns = tuple(zip(table.columns, *table.rows, strict=True))
    widest = [max(_widths(cells)) for cells in columns]
    least = [min(_longest_word(cells), _LONGEST_WHOLE) for cells in columns]
    least[0] = widest[0]
    spare = width - 1 - _BESIDE_A_COLUMN * len(columns) - sum(least)
    if spare < 0:
        return None
    found = Drawn(
        title=table.title or None,
        title_justify="left",
        box=box.SIMPLE,
        show_header=any(table.columns),
    )
    for name, size in zip(table.columns, _shared(spare, least, widest), strict=True):
        found.add_column(name, overflow="fold", width=size)
    for row in table.rows:
        found.add_row(*(Text(cell) for cell in row))
    return found


def _shared(spare: int, least: Sequence[int], widest: Sequence[int]) -> list[int]:
    """Return the widths: who needs little more gets all of it, the others share the rest."""
    sizes = list(least)
    wanting = sorted(range(len(sizes)), key=lambda place: widest[place] - least[place])
    for position, place in enumerate(wanting):
        more = min(widest[place] - least[place], spare // (len(wanting) - position))
        sizes[place] += more
        spare -= more
    return sizes


def _widths(cells: Sequence[str]) -> list[int]:
    return [cell_len(line) for cell in cells for line in cell.split("\n")]


def _longest_word(cells: Sequence[str]) -> int:
    return max((cell_len(word) for cell in cells for word in cell.split()), default=0)
