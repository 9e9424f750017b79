"""This module holds the base class of the books over SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bot.storage.desk import Desk
from bot.storage.queries import QUERIES

T = TypeVar("T")


class Book:
    """Runs statements by name (`queries.sql`) on one connection, on the thread of that connection.

    That is the writer's thread for a unit and a reader's for a view (`bot/storage/reader.py`).
    """

    def __init__(self, connection: sqlite3.Connection, desk: Desk) -> None:
        """Take the connection and the desk that all books of one transaction share.

        Every method must be called on the thread of the connection.
        """
        self.connection = connection
        self.desk = desk

    def _all(self, query: str, **values: Any) -> list[Any]:
        return self.connection.execute(QUERIES[query], values).fetchall()

    def _page(self, query: str, read: Callable[[Iterable[Any]], list[T]], **values: Any) -> list[T]:
        """Return up to `limit` records; `read` skips the rows that cannot be read.

        They do not use up the limit: more rows are asked for until as many as were wanted can be
        read, so that what stands behind them is found.
        """
        wanted = values["limit"]
        while True:
            rows = self._all(query, **values)
            found = read(rows)
            if len(found) >= wanted or len(rows) < values["limit"]:
                return found[:wanted]
            values["limit"] *= 2

    def _ids(self, query: str, after_id: str, limit: int) -> list[str]:
        """Return the ids of a page, more than `limit` if one that is no UTF-8 would be its last.

        SQLite sorts the bytes that are read for such a text behind every text: what stands behind
        it would not be found by them.
        """
        while True:
            ids = [row[0] for row in self._all(query, after_id=after_id, limit=limit)]
            if len(ids) < limit or isinstance(ids[-1], str):
                return ids
            limit *= 2

    def _one(self, query: str, **values: Any) -> Any:
        return self.connection.execute(QUERIES[query], values).fetchone()

    def _do(self, query: str, values: Mapping[str, Any]) -> int:
        return self.connection.execute(QUERIES[query], values).rowcount
