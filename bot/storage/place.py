"""The files of a database that is in use: whether they are still those that were opened.

A file that is moved, removed or exchanged goes on being written to by whoever has it open, and
nobody finds there again what was decided. Nor is it found in one that was cut short, to free its
disk or because another one was copied over it: SQLite goes on behind the hole.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from bot.storage.logged_pages import FRAME_HEAD, LOG_HEAD, LogEnd, log_end, logged_pages
from bot.storage.queries import PRAGMAS
from bot.storage.remedies import remedy, said

#: While somebody else folds the log it is asked again, so often and after so many seconds.
_TIMES: Final = 40
_AGAIN_S: Final = 0.05
#: What another program does between two of our questions is no trouble at the next look.
_LOOKS: Final = 2
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
        #: How far the log went when the database was last seen as long as it counts, and folded.
        self._seen_at = LogEnd()
        self._folded_ns = 0
        self._bytes = dict.fromkeys(self._files, 0)
        self.remember()

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

    def remember(self) -> None:
        """Note what a commit added; what became shorter meanwhile is looked at before the next.

        Only where somebody wrote to the database itself, the log has to be read for how far that
        may have been: a commit alone writes to the log.
        """
        size, written_ns = _size_and_time(self._database)
        if written_ns != self._folded_ns and size >= self._bytes[self._database]:
            with suppress(OSError):  # what cannot be read now is behind that all the same
                self._seen_at = log_end(self._log, self._seen_at)
                self._folded_ns = written_ns
        for path, now in ((self._database, size), (self._log, _bytes_of(self._log))):
            self._bytes[path] = max(self._bytes[path], now)

    def shorter(self, held: Callable[[], Held]) -> str | None:
        """Say which of them was cut short since it was remembered, and what to do; else None.

        Each may become shorter by rights: the log once all that it held was folded into the
        database, and that one where it was packed (VACUUM). Only what is shorter than SQLite, asked
        what it `held` (raising as `held_by`), takes it for was cut by somebody else.
        """
        words = None
        for _ in range(_LOOKS):
            if not (shorter := [p for p, was in self._bytes.items() if _bytes_of(p) < was]):
                return None
            if not (words := self._too_short(shorter, held)):
                return None
        return words

    def lacks_pages(self, pages: int, page_bytes: int) -> bool:
        """Say whether the database became shorter by pages that were not logged since.

        To be asked before anything is folded: where that makes the database longer than it is,
        nobody sees any more that it was cut, and what is lost reads as zeros. What the log held
        before may have been folded already, and is not folded again. Raises OSError.
        """
        if _bytes_of(self._database) >= min(self._bytes[self._database], pages * page_bytes):
            return False
        logged = logged_pages(self._log, self._seen_at)
        # Asked last: what is folded, or begun anew, meanwhile makes it longer.
        stand = _bytes_of(self._database) // page_bytes
        return any(number not in logged for number in range(stand + 1, pages + 1))

    def _too_short(self, shorter: list[Path], held: Callable[[], Held]) -> str | None:
        try:
            known = held()
        except PagesLost:
            return self._cut(self._database)
        except (sqlite3.Error, OSError, MemoryError) as error:
            return self._cut(shorter[0]) if _finds_nothing(error) else _unseen(shorter[0], error)
        least = {self._database: known.database - known.to_fold, self._log: known.log}
        if cut := [path for path in shorter if _bytes_of(path) < least[path]]:
            return self._cut(cut[0])
        self._bytes[self._log] = _bytes_of(self._log)
        if (now := _bytes_of(self._database)) >= known.database:  # else it is looked at again
            self._bytes[self._database] = now
        return None

    def _cut(self, path: Path) -> str:
        if path == self._database:
            return (
                f"The database {path} became shorter while the bot works with it: it was cut, or "
                f"another file was copied over it. {_DAMAGED}"
            )
        return (
            f"{path}, which holds the newest commits, was cut short while the bot works with it. "
            f"{_DAMAGED}"
        )


class PagesLost(Exception):
    """Of the database pages are gone, and stand nowhere else."""


class Held(NamedTuple):
    """How long SQLite takes its files to be at least, in bytes: the database once `to_fold` more
    bytes of the log, which somebody still reads behind, stand in it."""

    database: int
    log: int
    to_fold: int = 0


def held_by(plain: sqlite3.Connection, patience: str, place: Place) -> Held:
    """Fold the log as far as nobody stands in the way, and return what SQLite knows of both files.

    Waits two seconds for whoever folds it just now, and for no reader; `patience` is the pragma
    that is in force again after. Raises sqlite3.Error, also where SQLite does not find in the log
    what it wrote there, OSError where the log cannot be read, and PagesLost, having folded nothing.
    """
    try:
        plain.execute(PRAGMAS["no_patience"])
        return _held(plain, place)
    finally:
        with suppress(sqlite3.Error, MemoryError):
            plain.execute(PRAGMAS[patience])


def _held(plain: sqlite3.Connection, place: Place) -> Held:
    page_bytes = _answer(plain, "page_bytes")[0]
    if place.lacks_pages(_answer(plain, "pages")[0], page_bytes):
        raise PagesLost
    frames, folded = _folded(plain)
    to_fold = (frames - folded) * page_bytes
    if frames == folded > 0:  # of which nothing is needed any more: it may begin anew
        left = _answer(plain, "empty_wal")[1]
        frames = frames if left < 0 else left
    log_bytes = LOG_HEAD + frames * (FRAME_HEAD + page_bytes) if frames else 0
    return Held(_answer(plain, "pages")[0] * page_bytes, log_bytes, to_fold)


def _folded(plain: sqlite3.Connection) -> tuple[int, int]:
    """Return how many pages the log holds, and how many of them stand in the database too."""
    for _ in range(_TIMES):
        _, frames, folded = _answer(plain, "fold_wal")
        if frames >= 0:
            return frames, folded
        time.sleep(_AGAIN_S)
    raise sqlite3.OperationalError("another program folds its log and does not end")


def _answer(plain: sqlite3.Connection, pragma: str) -> tuple[int, ...]:
    with closing(plain.execute(PRAGMAS[pragma])) as answer:
        return tuple(answer.fetchone())


def _finds_nothing(error: Exception) -> bool:
    """Say whether SQLite found a hole, or something else, where it had written."""
    code = getattr(error, "sqlite_errorcode", 0)
    damaged = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in damaged


def _unseen(path: Path, error: Exception) -> str:
    return (
        f"{path} became shorter while the bot works with it, and the bot cannot look whether it "
        f"was cut: {said(error)}.{remedy(error)}"
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


def _bytes_of(path: Path) -> int:
    """Return how long a file is, 0 where there is none."""
    return _size_and_time(path)[0]


def _size_and_time(path: Path) -> tuple[int, int]:
    """Return how long a file is and when it was written, in ns; (0, 0) where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
