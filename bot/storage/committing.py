"""Commits a transaction so that one that failed is not found as done by a later start."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from bot.storage.queries import LEDGER


def commit(plain: sqlite3.Connection) -> None:
    """Commit on the thread of the connection; if that raises, nothing of it remains.

    `execute` makes an object for its answer once SQLite has committed, and without memory it would
    raise for what is done. `commit` and `rollback` make nothing.

    If the disk fails only to confirm a commit, the whole of it stands in the `-wal`. SQLite takes
    it for undone as long as this process lives, but the next start after a crash would find it, and
    act on what people and agents were told was not taken. So an empty commit is written over it.
    """
    try:
        plain.commit()
    except (sqlite3.Error, MemoryError):
        plain.rollback()  # unless SQLite did
        with suppress(sqlite3.Error, MemoryError):  # it is written even if not confirmed either
            plain.execute(LEDGER["touch"])
        raise
