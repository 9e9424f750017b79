"""Runs views on reading connections: each view sees one snapshot and never waits for the writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TypeVar

from bot.storage.connection import Connection, ConnectionClosed
from bot.storage.queries import QUERIES
from bot.storage.remedies import remedy, said
from bot.storage.transaction import SqliteTransaction
from lifecycle.ports import StoreClosed, StoreUnavailable, Transaction

T = TypeVar("T")


class Readers:
    """Hands views to the reading connections in turn.

    Its methods are called on the event loop; the view runs on the thread of the connection.
    """

    def __init__(self, connections: Sequence[Connection], path: Path) -> None:
        """Take open connections to the database at `path`; they were opened only to read."""
        self._path = path
        self._turns = cycle(connections)

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on a snapshot, in one hop. Raises StoreUnavailable if SQLite fails."""
        return await self.ask(partial(_on_snapshot, view))

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run `question` on a plain connection, without the books. Raises StoreUnavailable if
        SQLite fails."""
        try:
            return await next(self._turns).run(question)
        except (sqlite3.Error, MemoryError) as error:
            words = f"The database cannot be read: {said(error)}.{remedy(error, self._path)}"
            raise StoreUnavailable(words) from error
        except ConnectionClosed as error:
            raise StoreClosed("The store is closed.") from error


def _on_snapshot(view: Callable[[Transaction], T], plain: sqlite3.Connection) -> T:
    if plain.in_transaction:  # the end of a former view failed, as it may without memory
        plain.execute(QUERIES["roll_back"])
    plain.execute(QUERIES["begin_reading"])
    try:
        transaction = SqliteTransaction(plain)
        value = view(transaction)
        transaction.write_down()  # a view that changes anything fails here: query_only is set
        return value
    finally:
        if plain.in_transaction:
            plain.execute(QUERIES["roll_back"])
