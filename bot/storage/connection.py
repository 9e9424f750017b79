"""A connection to SQLite on a thread of its own, which runs whole functions in one hop."""

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

from bot.storage.queries import PRAGMAS
from bot.storage.remedies import remedy

T = TypeVar("T")

#: Raises CannotOpen for a database that must not be used.
Look = Callable[[sqlite3.Connection, Path], object]

log: Final = logging.getLogger("signoff")
#: The name under which a copy is made ready to take the database's place.
RESTORED: Final = ".restored"
#: What the 19th and 20th byte of a database say of its journal.
_WAL_MODE: Final = b"\x02\x02"
_STATEMENTS_KEPT: Final = 256
_ROWS_A_HOP: Final = 64


class CannotOpen(Exception):
    """The database cannot be used."""


class ConnectionClosed(Exception):
    """It takes nothing any more."""


class Connection(aiosqlite.Connection):
    """aiosqlite's connection with one method more.

    A hop to the thread costs more than a commit, and aiosqlite makes one for every statement. It
    has no public way to run a whole function there, so `run` uses the queue that all its own
    methods use; a test pins that the function runs on the connection's thread.
    """

    def __init__(self, open_it: Callable[[], sqlite3.Connection]) -> None:
        """Take what opens the connection; it is called on the thread."""
        super().__init__(open_it, _ROWS_A_HOP)
        # A connection that nobody closed must not keep the process alive.
        self._thread.daemon = True
        self._closing = False

    async def opened(self) -> None:
        """Open; where that fails, wait for the thread, which still has to report to this loop."""
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
        """Finish what was accepted, then close; what comes meanwhile is refused at once."""
        self._closing = True
        await super().close()


async def connect(path: Path, *, writing: bool, look: Look | None = None) -> Connection:
    """Open `path`, to write or only to read. Raises CannotOpen with a sentence for people.

    `look` is given the connection before anything is written.
    """
    connection = Connection(partial(open_plain, path, writing=writing, look=look))
    try:
        await connection.opened()
    except sqlite3.Error as error:
        words = f"The database {path} cannot be opened: {error}.{remedy(error, path)}"
        raise CannotOpen(words) from error
    return connection


def open_plain(path: Path, *, writing: bool, look: Look | None = None) -> sqlite3.Connection:
    """Open `path` as a plain sqlite3 connection with the pragmas in force.

    `look` is given it before anything is written: already the change into WAL mode stays with a
    file. Raises what that raises, sqlite3.Error, and CannotOpen where `path` is no file, a writing
    connection is not in WAL mode or a reading one cannot see the newest commits.
    """
    if path.exists() and not path.is_file():  # whoever opens a pipe waits for ever
        raise CannotOpen(
            f"{path} is no file: name one, as in `database: sqlite:///data/signoff.db`."
        )
    if writing:
        _made_ready(path)
    mode = "rwc" if writing else "ro&immutable=1" if sealed(path) else "ro"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        cached_statements=_STATEMENTS_KEPT,
        # The thread may close in another thread's name when the loop has ended first.
        check_same_thread=False,
    )
    try:
        _set_up(connection, path, writing=writing, look=look)
    except BaseException:
        connection.close()
        raise
    return connection


def sealed(path: Path) -> bool:
    """Say whether `path` stands alone where nothing can be created, as copies and snapshots do.

    SQLite reads a database in WAL mode there only if it is told that nobody changes it, and then
    takes no lock. Raises CannotOpen where its newest commits stand in a side file: they would be
    left out, and a trail that lacks them would pass for whole.
    """
    path = path.resolve()
    wal, shm = (path.with_name(path.name + side) for side in ("-wal", "-shm"))
    by_effect = os.access in os.supports_effective_ids
    if (wal.exists() and shm.exists()) or os.access(path.parent, os.W_OK, effective_ids=by_effect):
        return False
    if wal.exists() and wal.stat().st_size:
        raise CannotOpen(
            f"The newest commits of {path} stand in {wal.name}, which cannot be read where no file "
            "can be created. Copy both into a folder where that is possible, and read them there."
        )
    return _mode_of(path) == _WAL_MODE


def _mode_of(path: Path) -> bytes:
    with suppress(OSError), path.open("rb") as file:  # SQLite says what is wrong with the file
        return file.read(20)[18:]
    return b""


def _made_ready(path: Path) -> None:
    """Make a new database the owner's alone: mails and parameters stand in it.

    Raises CannotOpen where a restore was cut off before the copy took the name.
    """
    if path.exists():
        if not path.stat().st_size:  # cut to nothing, or left by a start that got no further
            log.warning(
                "The database %s is an empty file. Where proposals stood in it they are gone: stop "
                "the bot and bring a copy back with: signoff restore FILE",
                path,
            )
        return
    half = path.with_name(path.name + RESTORED)
    if half.exists():
        raise CannotOpen(
            f"There is no database {path}, but {half.name} of a restore that did not come to its "
            "end. Run signoff restore again, or move that file away to begin empty."
        )
    with suppress(OSError):  # SQLite says what is wrong with the folder
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _set_up(
    connection: sqlite3.Connection, path: Path, *, writing: bool, look: Look | None = None
) -> None:
    connection.row_factory = sqlite3.Row
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
