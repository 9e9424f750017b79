"""This module holds the default store: SQLite in WAL mode, with one writing connection and two that
read."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, TypeVar

from bot.process.own_folder import own_folder
from bot.storage.connection import CannotOpen, Connection, connect, refuse_strange_log
from bot.storage.lock import FileLock
from bot.storage.migrations import (
    check_schema,
    made_by_others,
    migrate,
    refuse_unknown,
    reshaped,
)
from bot.storage.mounted import refuse_single_file
from bot.storage.one_file import OneFile, refuse_other_name
from bot.storage.place import Place
from bot.storage.queries import PRAGMAS
from bot.storage.reader import Readers
from bot.storage.remedies import remedy
from bot.storage.side_file import holds_something
from bot.storage.writer import Writer
from lifecycle.ports import StoreUnavailable, Transaction

T = TypeVar("T")
log: Final = logging.getLogger("signoff.storage")

_READING_CONNECTIONS: Final = 2


class SqliteStore:
    """Implements the port ProposalStore (design section 11).

    Its methods are called on the event loop. Units run on the writer's thread, views on a reader's.
    """

    def __init__(
        self,
        readers: Readers,
        writer: Writer | None,
        lock: FileLock | None,
        closing: AsyncExitStack,
    ) -> None:
        """Take what `open` or `open_reader` opened. `writer` is None in a store that only reads,
        `lock` is None if the store is opened beside a bot."""
        self._readers = readers
        self._writer = writer
        self._lock = lock
        self._closing = closing

    @classmethod
    async def open(cls, path: Path, *, beside: bool = False) -> SqliteStore:
        """Open `path` for writing: take the lock, check the mode, bring the tables up to date.

        With `beside` no lock is taken and nothing is migrated: a command line writes a flag so
        while a bot runs. Raises CannotOpen; AlreadyRunning if another process has the lock.
        """
        async with AsyncExitStack() as opened:
            lock, one_file = None, OneFile(path)
            if beside:
                _must_exist(path)
            else:
                lock = _locked(path)
                opened.callback(lock.release)
                opened.callback(one_file.release)
                one_file.take()
            left_over = not beside and holds_something(path)
            connection = await _prepared(path, opened, beside=beside)
            if not beside:
                one_file.take()  # a first start has made the file only now
            readers = await _readers(path, opened)
            writer = Writer(connection, Place(path), left_over=left_over)
            opened.push_async_callback(writer.close)
            return cls(readers, writer, lock, opened.pop_all())

    @classmethod
    async def open_reader(cls, path: Path) -> SqliteStore:
        """Open `path` only to read, beside a running bot or without one. Raises CannotOpen."""
        _must_exist(path)
        refuse_strange_log(path)
        refuse_other_name(path)
        async with AsyncExitStack() as opened:
            readers = await _readers(path, opened, check=True)
            return cls(readers, None, None, opened.pop_all())

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` in a transaction and return its value once that is durable.

        Raises what the unit raises, after undoing it alone; StoreUnavailable if SQLite failed and
        nothing of the unit remains. If the caller is cancelled, the unit is written whole or not at
        all.
        """
        if self._writer is None:
            raise StoreUnavailable("The store was opened only to read.")
        return await self._writer.write(unit)

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on a consistent snapshot and return its value; it cannot write."""
        return await self._readers.read(view)

    async def made_by_others(self) -> list[str]:
        """Return a sentence for each foreign trigger, each view under the name of a table, and what
        else of the schema is not as the migrations made it."""
        return await self._readers.ask(_otherwise_made)

    async def damage(self) -> list[str]:
        """Return one sentence if a page of the database is damaged, an empty list if none is."""
        found = await self._readers.ask(_first_damage)
        return [] if found == "ok" else [f"the database is damaged: {found}; bring a copy back"]

    def hurry(self) -> None:
        """Let a unit that another process's lock keeps out fail after 250 ms: the bot is ending."""
        if self._writer is not None:
            self._writer.hurry()

    def keep_lock(self) -> bool:
        """Take the lock again if its file was removed by hand; return True if it was.

        Raises AlreadyRunning if another process has the database by now, else CannotOpen.
        """
        return self._lock is not None and self._lock.keep()

    def check_serving(self) -> None:
        """Raise StoreUnavailable if the writer broke: it takes no unit again in this process."""
        if self._writer is not None and self._writer.broken is not None:
            raise StoreUnavailable(self._writer.broken)

    async def close(self) -> None:
        """Finish the accepted units, close the connections and release the lock."""
        await self._closing.aclose()


def _locked(path: Path) -> FileLock:
    try:
        own_folder(path.parent)
    except OSError as error:
        words = f"The folder {path.parent} cannot be made: {error.strerror}."
        raise CannotOpen(words) from error
    refuse_single_file(path)
    lock = FileLock(path)
    lock.take()
    return lock


async def _prepared(path: Path, opened: AsyncExitStack, *, beside: bool) -> Connection:
    connection = await connect(path, writing=True, look=refuse_unknown)
    opened.push_async_callback(connection.close)
    prepare = check_schema if beside else migrate
    await _prepare(connection, prepare, path)
    for words in [] if beside else await connection.run(_otherwise_made):
        log.warning("%s: %s.", path, words)
    return connection


async def _readers(path: Path, opened: AsyncExitStack, *, check: bool = False) -> Readers:
    connections = []
    for _ in range(_READING_CONNECTIONS):
        connection = await connect(path, writing=False)
        opened.push_async_callback(connection.close)
        connections.append(connection)
    if check:
        await _prepare(connections[0], check_schema, path)
    return Readers(connections, path)


async def _prepare(
    connection: Connection, prepare: Callable[[sqlite3.Connection, Path], None], path: Path
) -> None:
    try:
        await connection.run(lambda plain: prepare(plain, path))
    except sqlite3.Error as error:
        words = f"The database {path} cannot be used: {error}.{remedy(error, path)}"
        raise CannotOpen(words) from error


def _otherwise_made(connection: sqlite3.Connection) -> list[str]:
    # A view takes the place of a table, whose indices are then gone as well.
    return made_by_others(connection) or reshaped(connection)


def _first_damage(connection: sqlite3.Connection) -> str:
    found = str(connection.execute(PRAGMAS["integrity"]).fetchone()[0])
    return found.splitlines()[-1]  # the first one names the database


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise CannotOpen(f"There is no database {path} yet; `signoff run` makes it.")
