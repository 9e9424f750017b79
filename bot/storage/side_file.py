"""The side file of the database, emptied where a row in it must not be read any more (section 10).

What a row held before it was masked stands in `-wal` until that is written over, which may take
days, and a process that dies leaves it there.
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

#: While somebody reads, or the disk takes nothing, it is tried again after so long, in seconds.
_AGAIN_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
#: What a chat delivered stands on disk until it was worked, a moment later: so it is done twice.
_ONCE_MORE_S: Final = 60.0
#: Whoever has many rows masked keeps the others from writing no more than a twentieth of the time,
#: once what may be taken in advance is used up, half a second.
_PAID_FOR: Final = 20
_IN_ADVANCE_S: Final = 0.5 * _PAID_FOR


def holds_something(database: Path) -> bool:
    """Say, before a process opens it, whether one that died left commits in the side file."""
    side = database.resolve()
    with suppress(OSError):
        return side.with_name(f"{side.name}-wal").stat().st_size > 0
    return False


class SideFile:
    """Folds `-wal` into the database and empties it, on the connection's thread.

    Nobody waits for it: where it cannot be done now it is done later.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        place: Place,
        *,
        left_over: bool = False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the writing connection. `left_over`: a process that died may have left something."""
        self._connection, self._place, self._now_s = connection, place, now_s
        self._paid_until_s = now_s()
        self._due_s = [now_s()] if left_over else []
        self._pause_s = _AGAIN_S

    def cover(self) -> None:
        """A row was masked: what it held before must not stay, at once and once more.

        Where many are, they wait for one another and share the next time.
        """
        at_s = max(self._now_s(), self._paid_until_s - _IN_ADVANCE_S)
        self._due_s = [at_s, at_s + _ONCE_MORE_S]
        self._pause_s = _AGAIN_S

    def idle_s(self) -> float | None:
        """Return for how many seconds there is nothing to do, None where there is nothing."""
        return max(0.0, self._due_s[0] - self._now_s()) if self._due_s else None

    def empty(self, patience: str) -> None:
        """Empty it where that is due; `patience` is the pragma that is in force again after.

        Where the database's files do not lie where they lay, or one was cut short, it holds what
        is lacking there, and stays as it is.
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
