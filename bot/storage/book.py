"""What the books over SQLite have in common."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from bot.storage.desk import Desk
from bot.storage.queries import QUERIES


class Book:
    """A connection and the statements by name."""

    def __init__(self, connection: sqlite3.Connection, desk: Desk) -> None:
        """Take the connection on whose thread every method is called, and the unit's desk."""
        self.connection = connection
        self.desk = desk

    def _all(self, query: str, **values: Any) -> list[Any]:
        return self.connection.execute(QUERIES[query], values).fetchall()

    def _one(self, query: str, **values: Any) -> Any:
        return self.connection.execute(QUERIES[query], values).fetchone()

    def _do(self, query: str, values: Mapping[str, Any]) -> int:
        return self.connection.execute(QUERIES[query], values).rowcount
