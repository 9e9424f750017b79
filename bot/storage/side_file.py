"""Empties the `-wal` file of the database after a row was masked (design section 10).

What a row held before it was masked stays in the `-wal` until that part is overwritten, which may
take days, and a process that dies leaves it there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from bot.storage.place import Place, held_by
from bot.storage.queries import PRAGMAS

#: If somebody reads or the disk takes nothing, it is tried again after so many seconds, then twice
#: as many each time, up to the longest pause.
_AGAIN_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
#: An event of a chat that holds the same text is on disk until it was processed, a moment after
#: the row was masked. So the file is emptied once more, after so many seconds.
_ONCE_MORE_S: Final = 60.0
#: However many rows are masked, emptying may keep others from writing for at most a twentieth of
#: the time, after an allowance of half a second has been used up.
_PAID_FOR: Final = 20
_IN_ADVANCE_S: Final = 0.5 * _PAID_FOR


def holds_something(database: Path) -> bool:
    """Return True if the `-wal` holds commits of a process that died; ask before opening it."""
    side = database.resolve()
    with suppress(OSError):
        return side.with_name(f"{side.name}-wal").stat().st_size > 0
    return False


class SideFile:
    """Folds the `-wal` into the database and empties it, on the writer's thread.

    It waits for nobody: if it cannot be done now, it is done later.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        place: Place,
        *,
        left_over: bool = False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the writing connection. With `left_over` the file is emptied at once: a process that
        died may have left something in it. `now_s` is a monotonic clock in seconds."""
        self._connection, self._place, self._now_s = connection, place, now_s
        self._paid_until_s = now_s()
        self._due_s = [now_s()] if left_over else []
        self._pause_s = _AGAIN_S

    def cover(self) -> None:
        """Plan to empty the file now and again a minute later, because a row was masked.

        If many rows are masked, the emptying is delayed and serves all of them.
        """
        at_s = max(self._now_s(), self._paid_until_s - _IN_ADVANCE_S)
        self._due_s = [at_s, at_s + _ONCE_MORE_S]
        self._pause_s = _AGAIN_S

    def idle_s(self) -> float | None:
        """Return after how many seconds the file must be emptied, None if nothing is planned."""
        return max(0.0, self._due_s[0] - self._now_s()) if self._due_s else None

    def empty(self, patience: str) -> None:
        """Empty the file if that is due; `patience` names the pragma to set again afterwards.

        If a file of the database was moved or cut short, the `-wal` holds what is missing there,
        and is left as it is.
        """
        if not self._due_s or self._due_s[0] > self._now_s():
            return
        began_s = self._now_s()
        emptied = self._may_be_folded(patience) and self._emptied(patience)
        took_s = self._now_s() - began_s
        self._paid_until_s = max(self._paid_until_s, began_s) + took_s * _PAID_FOR
        if emptied:
            del self._due_s[0]
            self._pause_s = _AGAIN_S
            return
        self._due_s[0] = self._now_s() + self._pause_s
        self._pause_s = min(_LONGEST_PAUSE_S, self._pause_s * 2)

    def _may_be_folded(self, patience: str) -> bool:
        held = partial(held_by, self._connection, patience, self._place)
        return self._place.trouble() is None and self._place.shorter(held) is None

    def _emptied(self, patience: str) -> bool:
        try:
            self._connection.execute(PRAGMAS["no_patience"])
            return not self._connection.execute(PRAGMAS["empty_wal"]).fetchone()[0]
        except (sqlite3.Error, MemoryError):
            return False
        finally:
            with suppress(sqlite3.Error, MemoryError):
                self._connection.execute(PRAGMAS[patience])
