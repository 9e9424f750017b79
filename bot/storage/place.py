"""The files of a database that is in use: whether they are still those that were opened.

A file that is moved, removed or exchanged goes on being written to by whoever has it open, and
nobody finds there again what was decided.
"""

from __future__ import annotations

from pathlib import Path


class Place:
    """Remembers which files a database and its log were when they were opened."""

    def __init__(self, database: Path) -> None:
        """Look at the files; both exist once a connection has written or read."""
        self._database = database.resolve()
        self._log = self._database.with_name(self._database.name + "-wal")
        self._files = {path: _which(path) for path in (self._database, self._log)}

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
