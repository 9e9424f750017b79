"""Rows that stand in the way of one work among many: the others are done, and whoever began them
all is told, since nobody waits for the one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lifecycle.ports import RowAtFault

_MET: ContextVar[list[RowAtFault] | None] = ContextVar("rows_met", default=None)


@contextmanager
def rows_met() -> Iterator[list[RowAtFault]]:
    """Give a list of the rows that are met within, in the order in which they are."""
    met: list[RowAtFault] = []
    token = _MET.set(met)
    try:
        yield met
    finally:
        _MET.reset(token)


def note_row(error: RowAtFault) -> None:
    """Let whoever asked for it know of a row that was left as it is."""
    met = _MET.get()
    if met is not None:
        met.append(error)
