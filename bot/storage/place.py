"""Watches whether the files of an open database are still the ones that were opened, and whole.

If a file is moved, removed or replaced, SQLite goes on writing to the old one, and nobody finds
again what was decided. The same holds for a file that was cut short, to free its disk or because
another file was copied over it: SQLite goes on behind the hole. So the writer asks here before
every commit. In this module the *log* is the `-wal` file, and to *fold* it is to checkpoint it:
its pages are written into the database.
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

#: While another process folds the log we ask again, so often and after so many seconds.
_TIMES: Final = 40
_AGAIN_S: Final = 0.05
#: A file is called cut only if two looks say so: another program may work between two questions.
_LOOKS: Final = 2
_DAMAGED: Final = (
    "Stop the bot, see with signoff audit verify what is left, and bring a copy back with: signoff "
    "restore FILE"
)


class Place:
    """Remembers which files a database and its log were when they were opened, and their sizes.

    It is made on the event loop and used on the writer's thread only.
    """

    def __init__(self, database: Path) -> None:
        """Look at the files; both exist once a connection has written or read."""
        #: The file itself, all links followed.
        self.database = database.resolve()
        self._log = self.database.with_name(self.database.name + "-wal")
        self._files = {path: _which(path) for path in (self.database, self._log)}
        #: The end of the log when the database was last seen changed (folded) and not shortened,
        #: and the time of that change. A page that was logged later may be missing in the database.
        self._seen_at = LogEnd()
        self._folded_ns = 0
        #: The size in bytes that each file had last; a smaller one must be explained.
        self._bytes = dict.fromkeys(self._files, 0)
        self.remember()

    def trouble(self) -> str | None:
        """Return what happened to the files and what to do, None if both are where they were."""
        gone = [path for path, which in self._files.items() if which and _which(path) != which]
        if not gone:
            return None
        if closed := _closed(gone[0]):
            return closed
        if self.database in gone:
            return (
                f"The database {self.database} was moved, removed or exchanged while the bot "
                "works with it. Put back the very file that was there, or stop the bot and bring a "
                "copy back with: signoff restore FILE"
            )
        return (
            f"{self._log}, which holds the newest commits, was moved, removed or exchanged while "
            "the bot works with it. Stop the bot, which then writes them into the database, and "
            "start it again"
        )

    def remember(self) -> None:
        """Remember the sizes after a commit; a file that is shorter now keeps its larger size.

        `shorter` looks at that before the next commit. A commit writes to the log only. If the
        database itself was written since, the log was folded, and is read for its present end.
        """
        size, written_ns = _size_and_time(self.database)
        if written_ns != self._folded_ns and size >= self._bytes[self.database]:
            with suppress(OSError):  # keep the older end: it only makes more pages count as logged
                self._seen_at = log_end(self._log, self._seen_at)
                self._folded_ns = written_ns
        for path, now in ((self.database, size), (self._log, _bytes_of(self._log))):
            self._bytes[path] = max(self._bytes[path], now)

    def shorter(self, held: Callable[[], Held]) -> str | None:
        """Return which file somebody cut short since `remember` and what to do, None if neither.

        Both files may become shorter legitimately: the log once all of it was folded into the
        database, and the database by VACUUM. A file was cut only if it is shorter than SQLite takes
        it to be. `held` asks SQLite for that, and raises as `held_by` does.
        """
        words = None
        for _ in range(_LOOKS):
            if not (shorter := [p for p, was in self._bytes.items() if _bytes_of(p) < was]):
                return None
            if not (words := self._too_short(shorter, held)):
                return None
        return words

    def lacks_pages(self, pages: int, page_bytes: int) -> bool:
        """Return True if the database lacks pages at its end that are not in the log either.

        `pages` is how many pages SQLite says there are. Ask before anything is folded: folding may
        make the database longer again, which hides that it was cut, and the lost pages read as
        zeros. Only pages logged after `_seen_at` count, because earlier ones may have been folded
        already and would not be folded again. Raises OSError.
        """
        if _bytes_of(self.database) >= min(self._bytes[self.database], pages * page_bytes):
            return False
        logged = logged_pages(self._log, self._seen_at)
        # Asked last: if another process folds the log meanwhile, the database is longer by now.
        stand = _bytes_of(self.database) // page_bytes
        return any(number not in logged for number in range(stand + 1, pages + 1))

    def _too_short(self, shorter: list[Path], held: Callable[[], Held]) -> str | None:
        try:
            known = held()
        except PagesLost:
            return self._cut(self.database)
        except (sqlite3.Error, OSError, MemoryError) as error:
            first = shorter[0]
            return self._cut(first) if _finds_nothing(error) else self._unseen(first, error)
        least = {self.database: known.database - known.to_fold, self._log: known.log}
        if cut := [path for path in shorter if _bytes_of(path) < least[path]]:
            return self._cut(cut[0])
        self._bytes[self._log] = _bytes_of(self._log)
        if (now := _bytes_of(self.database)) >= known.database:  # else look again next time
            self._bytes[self.database] = now
        return None

    def _cut(self, path: Path) -> str:
        if path == self.database:
            return (
                f"The database {path} became shorter while the bot works with it: it was cut, or "
                f"another file was copied over it. {_DAMAGED}"
            )
        return (
            f"{path}, which holds the newest commits, was cut short while the bot works with it. "
            f"{_DAMAGED}"
        )

    def _unseen(self, path: Path, error: Exception) -> str:
        return (
            f"{path} became shorter while the bot works with it, and the bot cannot look whether "
            f"it was cut: {said(error)}.{remedy(error, self.database)}"
        )


class PagesLost(Exception):
    """Pages of the database are gone and are not in the log either."""


class Held(NamedTuple):
    """The least sizes in bytes that SQLite takes its files to have.

    `database` is the size once `to_fold` more bytes of the log are folded into it, which a reader
    still prevents.
    """

    database: int
    log: int
    to_fold: int = 0


def held_by(plain: sqlite3.Connection, patience: str, place: Place) -> Held:
    """Fold the log as far as readers allow, and return what SQLite knows of both files.

    Waits up to two seconds for a process that folds it right now, and not for readers. `patience`
    names the pragma to set again afterwards. Raises sqlite3.Error, also if SQLite does not find in
    the log what it wrote there, OSError if the log cannot be read, and PagesLost before anything is
    folded.
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
    if frames == folded > 0:  # nothing in the log is needed any more, so it may be emptied
        left = _answer(plain, "empty_wal")[1]
        frames = frames if left < 0 else left
    log_bytes = LOG_HEAD + frames * (FRAME_HEAD + page_bytes) if frames else 0
    return Held(_answer(plain, "pages")[0] * page_bytes, log_bytes, to_fold)


def _folded(plain: sqlite3.Connection) -> tuple[int, int]:
    """Return how many pages the log holds, and how many of them are in the database too."""
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
    """Return True if the error says that SQLite did not find what it had written."""
    code = getattr(error, "sqlite_errorcode", 0)
    damaged = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in damaged


def _closed(path: Path) -> str | None:
    """Return words saying that the folder may not be entered any more, None if it may."""
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
    """Return device and inode, which tell one file from every other; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bytes_of(path: Path) -> int:
    """Return the size of a file, 0 if there is none."""
    return _size_and_time(path)[0]


def _size_and_time(path: Path) -> tuple[int, int]:
    """Return the size of a file and when it was written, in ns; (0, 0) if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
