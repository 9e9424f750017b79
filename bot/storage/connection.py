"""This module opens SQLite connections: on a thread of their own, or plain on the caller's thread.

The store has three: one that writes and two that read (`bot/storage/sqlite.py`). Copies and
migrations use plain ones.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import aiosqlite

from bot.storage.logged_pages import LOG_HEAD
from bot.storage.queries import PRAGMAS
from bot.storage.remedies import remedy, too_old

T = TypeVar("T")

#: Looks at a database before anything is written; raises CannotOpen if it must not be used.
Look = Callable[[sqlite3.Connection, Path], object]

log: Final = logging.getLogger("signoff")
#: The suffix of the file in which `restore` prepares a copy before it replaces the database.
RESTORED: Final = ".restored"
#: The 19th and 20th byte of a database file in WAL mode.
_WAL_MODE: Final = b"\x02\x02"
_STATEMENTS_KEPT: Final = 256
_ROWS_A_HOP: Final = 64


class CannotOpen(Exception):
    """The database cannot be used."""


class ConnectionClosed(Exception):
    """The connection is closed or closing, so it runs no further function."""


class Connection(aiosqlite.Connection):
    """An aiosqlite connection that can also run a whole function on its thread, in one hop.

    Its methods are called on the event loop. A hop to the thread costs more than a commit, and
    aiosqlite makes one for every statement. It has no public way to run a whole function there, so
    `run` uses the queue that all its own methods use; a test pins that the function runs on the
    connection's thread.
    """

    def __init__(self, open_it: Callable[[], sqlite3.Connection]) -> None:
        """Take the function that opens the connection; it is called on the connection's thread."""
        super().__init__(open_it, _ROWS_A_HOP)
        # A connection that nobody closed must not keep the process alive.
        self._thread.daemon = True
        self._closing = False

    async def opened(self) -> None:
        """Open it. If that fails, wait for its thread, which still has to report to this loop."""
        try:
            await self
        except BaseException:
            await asyncio.to_thread(self._thread.join)
            raise

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` on the connection's thread and return its value.

        Cancelling the wait does not stop the function. Raises ConnectionClosed once `close` began.
        """
        if self._closing:
            raise ConnectionClosed
        value: T = await self._execute(lambda: function(self._conn))  # type: ignore[no-untyped-call]
        return value

    async def close(self) -> None:
        """Finish the accepted functions, then close; new ones are refused from now on."""
        self._closing = True
        await super().close()


async def connect(path: Path, *, writing: bool, look: Look | None = None) -> Connection:
    """Open `path` for writing or only for reading, on a new thread.

    `look` is called with the connection before anything is written. Raises CannotOpen with a
    sentence for people.
    """
    connection = Connection(partial(open_plain, path, writing=writing, look=look))
    try:
        await connection.opened()
    except sqlite3.Error as error:
        words = f"The database {path} cannot be opened: {error}.{remedy(error, path)}"
        raise CannotOpen(words) from error
    return connection


def open_plain(path: Path, *, writing: bool, look: Look | None = None) -> sqlite3.Connection:
    """Open `path` as a plain sqlite3 connection with the pragmas set, on the caller's thread.

    `look` is called before anything is written, because even the switch to WAL mode changes the
    file. Raises what `look` raises, sqlite3.Error, and CannotOpen if SQLite is too old, if `path`
    is not a file, if a writing connection cannot get WAL mode, if a reading one cannot see the
    newest commits, or if to open it would delete them.
    """
    if words := too_old():
        raise CannotOpen(words)
    if path.exists() and not path.is_file():  # opening a pipe would block for ever
        raise CannotOpen(
            f"{path} is no file: name one, as in `database: sqlite:///data/signoff.db`."
        )
    _refuse_emptied(path)
    if writing:
        _made_ready(path)
    mode = "rwc" if writing else "ro&immutable=1" if sealed(path) else "ro"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        cached_statements=_STATEMENTS_KEPT,
        # If the loop ends first, the connection may be closed on another thread than its own.
        check_same_thread=False,
    )
    try:
        _set_up(connection, path, writing=writing, look=look)
    except UnicodeDecodeError as error:  # Python cannot read what SQLite quotes
        connection.close()
        damaged = sqlite3.DatabaseError("malformed database schema")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged from error
    except BaseException:
        connection.close()
        raise
    return connection


def text_or_bytes(data: bytes) -> str | bytes:
    """Return the text of a column, or its bytes if they are no UTF-8.

    A disk may turn a letter into such bytes. As bytes they are a value of a wrong kind, which makes
    their own row unreadable; sqlite3 would refuse to read every row that the query finds.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def sealed(path: Path) -> bool:
    """Return True if `path` is a WAL database without side files in a folder we cannot write to.

    A copy on a read-only disk is one. SQLite reads it only if it is told that nobody changes the
    file (`immutable`), and then takes no lock. Raises CannotOpen if the `-wal` file holds commits:
    they would be left out, and a trail that lacks them would pass for whole.
    """
    path = path.resolve()
    wal, shm = (path.with_name(path.name + side) for side in ("-wal", "-shm"))
    by_effect = os.access in os.supports_effective_ids
    if (wal.exists() and shm.exists()) or os.access(path.parent, os.W_OK, effective_ids=by_effect):
        return False
    if _size_of(wal):
        raise CannotOpen(
            f"The newest commits of {path} stand in {wal.name}, which cannot be read where no file "
            "can be created. Copy both into a folder where that is possible, and read them there."
        )
    return _mode_of(path) == _WAL_MODE


def _mode_of(path: Path) -> bytes:
    with suppress(OSError), path.open("rb") as file:  # SQLite will report what is wrong with it
        return file.read(20)[18:]
    return b""


def _made_ready(path: Path) -> None:
    """Create a missing database file readable by its owner only: it will hold mails and parameters.

    An existing file is left as it is, with a warning if it is empty. Raises CannotOpen if a restore
    was interrupted before the copy got the name of the database, or if the log is of another one.
    """
    if path.exists():
        refuse_strange_log(path)
        if not path.stat().st_size:  # truncated, or left by a start that got no further
            log.warning(
                "The database %s is an empty file. Where proposals stood in it they are gone: stop "
                "the bot and bring a copy back with: signoff restore FILE",
                path,
            )
        return
    if remains := remains_of(path):
        raise CannotOpen(remains)
    with suppress(OSError):  # SQLite will report what is wrong with the folder
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def remains_of(path: Path) -> str | None:
    """Return what the database `path`, which is missing, left behind, and what to do; None if it
    left nothing.

    That is a copy of a restore that ended too early, or the newest commits: SQLite would delete
    them with an empty file beside them.
    """
    half = path.with_name(path.name + RESTORED)
    if half.exists():
        return (
            f"There is no database {path}, but {half.name} of a restore that did not come to its "
            "end. Run signoff restore again, or move that file away to begin empty."
        )
    if _holds_commits(commits := _log_of(path)):
        return f"There is no database {path}, but {_newest_in(commits)}"
    return None


def _newest_in(commits: Path) -> str:
    return (
        f"{commits.name}, which holds its newest commits. Put back the very file that was there, "
        "or bring a copy back with: signoff restore FILE. To begin empty, move "
        f"{commits.name} away."
    )


def _refuse_emptied(path: Path) -> None:
    """Raise CannotOpen if the database is an empty file beside a log that holds commits.

    SQLite deletes such a log whoever opens the file, also only to read, and while a bot works with
    it. This opens nothing, and so releases no locks.
    """
    commits = _log_of(path)  # looked at first: whoever begins writes the file before its log
    if _holds_commits(commits) and path.exists() and not path.stat().st_size:
        raise CannotOpen(
            f"The database {path} is an empty file beside {_newest_in(commits)} Where a bot runs "
            "with it, stop that first with SIGTERM: it writes what it still holds into it."
        )


def refuse_strange_log(path: Path) -> None:
    """Raise CannotOpen if the log beside the database is of another one.

    A file in any other mode than WAL has none. It was put in the place of a database whose bot had
    died: SQLite would apply the commits of that one to it, and mix the two, also for a reader and
    in a copy. Call it before this process has a connection: to close the file would release the
    locks of that one.
    """
    commits = _log_of(path)  # looked at first: a bot that starts changes the mode before it logs
    if _holds_commits(commits) and _mode_of(path) not in (b"", _WAL_MODE):
        raise CannotOpen(
            f"{path} was put in the place of another database: {commits.name} beside it holds "
            f"commits of that one. Move {path.name} away, and bring it back from there with: "
            "signoff restore FILE"
        )


def _log_of(path: Path) -> Path:
    found = path.resolve()
    return found.with_name(found.name + "-wal")


def _holds_commits(log_file: Path) -> bool:
    return _size_of(log_file) > LOG_HEAD


def _size_of(log_file: Path) -> int:
    with suppress(FileNotFoundError, NotADirectoryError):  # a bot that ends deletes it
        return log_file.stat().st_size
    return 0


def _set_up(
    connection: sqlite3.Connection, path: Path, *, writing: bool, look: Look | None = None
) -> None:
    connection.row_factory = sqlite3.Row
    connection.text_factory = text_or_bytes
    connection.execute(PRAGMAS["patience"])
    connection.execute(PRAGMAS["cache"])
    if look is not None:
        look(connection, path)
    if not writing:
        connection.execute(PRAGMAS["only_reading"])
        return
    with closing(connection.execute(PRAGMAS["wal"])) as answer:
        mode = answer.fetchone()[0]
    if mode != "wal":
        raise CannotOpen(
            f"The database {path} is in {mode} mode and cannot be put into WAL mode. Put it on a "
            "local disk, in a folder where files can be created beside it."
        )
    connection.execute(PRAGMAS["full"])
    connection.execute(PRAGMAS["checkpoint"])
    connection.execute(PRAGMAS["undo_in_memory"])
    connection.execute(PRAGMAS["wipe"])
    connection.execute(PRAGMAS["foreign_keys"])
