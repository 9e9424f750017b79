"""The files of a database that is in use: whether they are still those that were opened.

A file that is moved, removed or exchanged goes on being written to by whoever has it open, and
nobody finds there again what was decided. Nor is it found in one that was cut short, to free its
disk or because another one was copied over it: SQLite goes on behind the hole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

_DAMAGED: Final = (
    "Stop the bot, see with signoff audit verify what is left, and bring a copy back with: signoff "
    "restore FILE"
)


class Place:
    """Remembers which files a database and its log were when they were opened, and how long."""

    def __init__(self, database: Path) -> None:
        """Look at the files; both exist once a connection has written or read."""
        self._database = database.resolve()
        self._log = self._database.with_name(self._database.name + "-wal")
        self._files = {path: _which(path) for path in (self._database, self._log)}
        self._bytes = {path: _bytes_of(path) for path in self._files}

    def trouble(self) -> str | None:
        """Say what became of them, and what to do; None where they lie where they lay."""
        gone = [path for path, which in self._files.items() if which and _which(path) != which]
        if not gone:
            return None
        if closed := _closed(gone[0]):
            return closed
        if self._database in gone:
            return (
                f"The database {self._database} was moved, removed or exchanged while the bot "
                "works with it. Put back the very file that was there, or stop the bot and bring a "
                "copy back with: signoff restore FILE"
            )
        return (
            f"{self._log}, which holds the newest commits, was moved, removed or exchanged while "
            "the bot works with it. Stop the bot, which then writes them into the database, and "
            "start it again"
        )

    def shorter(self, fold: Callable[[], object]) -> str | None:
        """Say which of them was cut short since this was asked last, and what to do; else None.

        The database never becomes shorter in use. The log does, once all that it held was folded
        into the database: asked to `fold` it (raising sqlite3.Error), SQLite finds none of what
        stood there where somebody else cut it.
        """
        now_bytes = {path: _bytes_of(path) for path in self._files}
        if now_bytes[self._database] < self._bytes[self._database]:
            return (
                f"The database {self._database} became shorter while the bot works with it: it was "
                f"cut, or another file was copied over it. {_DAMAGED}"
            )
        if now_bytes[self._log] < self._bytes[self._log] and not _folded(fold):
            return (
                f"{self._log}, which holds the newest commits, was cut short while the bot works "
                f"with it. {_DAMAGED}"
            )
        self._bytes = now_bytes
        return None


def _folded(fold: Callable[[], object]) -> bool:
    try:
        fold()
    except (sqlite3.Error, MemoryError):
        return False
    return True


def _closed(path: Path) -> str | None:
    """Say that nobody can see whether it is still there; None where that can be seen."""
    try:
        path.stat()
    except PermissionError:
        return (
            f"The bot may not look into {path.parent} any more, so it writes nothing there. Give "
            "its account that folder back (chown, chmod u+rwx); the bot goes on by itself"
        )
    except OSError:
        return None
    return None


def _which(path: Path) -> tuple[int, int] | None:
    """Return what tells one file from every other, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bytes_of(path: Path) -> int:
    """Return how long a file is, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
