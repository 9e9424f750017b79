"""Lets a job hear of rows that were left out because they stood in the way of their own work.

Work on many proposals (`many`) goes on without such a row, and nobody waits for that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lifecycle.ports import RowAtFault

_MET: ContextVar[list[RowAtFault] | None] = ContextVar("rows_met", default=None)


@contextmanager
def rows_met() -> Iterator[list[RowAtFault]]:
    """Give a list that collects the rows met within the context, in order."""
    met: list[RowAtFault] = []
    token = _MET.set(met)
    try:
        yield met
    finally:
        _MET.reset(token)


def note_row(error: RowAtFault) -> None:
    """Add a row that was left as it is to the list of whoever asked for it, if anybody did."""
    met = _MET.get()
    if met is not None:
        met.append(error)
