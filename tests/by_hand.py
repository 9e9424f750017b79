"""Changing a database behind the program's back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def by_hand(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Ask or change the file as somebody with the sqlite3 program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        return plain.execute(sql).fetchall()
