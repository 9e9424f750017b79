"""The floors: what plain SQLite does with the same number of durable moves, and no law at all."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Final

MOVES: Final = 5
_TABLES: Final = (
    "CREATE TABLE proposals (id TEXT PRIMARY KEY, state TEXT, version INTEGER, document BLOB)",
    "CREATE TABLE audit (seq INTEGER PRIMARY KEY, proposal_id TEXT, entry TEXT)",
)


def floor_per_s(file: Path, lifecycles: int, *, together: int) -> float:
    """Return lifecycles a second with `together` of them in each commit (1: one commit a move)."""
    database = _opened(file)
    began = time.perf_counter()
    for first in range(0, lifecycles, together):
        batch = range(first, min(first + together, lifecycles))
        for move in range(MOVES):
            database.execute("BEGIN IMMEDIATE")
            for number in batch:
                _move(database, f"{first}-{number}", move)
            database.execute("COMMIT")
    elapsed_s = time.perf_counter() - began
    database.close()
    return lifecycles / elapsed_s


def _opened(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    for table in _TABLES:
        database.execute(table)
    return database


def _move(database: sqlite3.Connection, proposal_id: str, move: int) -> None:
    if move == 0:
        database.execute(
            "INSERT INTO proposals VALUES (?, ?, ?, ?)", (proposal_id, "state-0", 0, b"x" * 800)
        )
    else:
        database.execute(
            "UPDATE proposals SET state = ?, version = ? WHERE id = ? AND version = ?",
            (f"state-{move}", move, proposal_id, move - 1),
        )
    database.execute(
        "INSERT INTO audit (proposal_id, entry) VALUES (?, ?)", (proposal_id, "y" * 300)
    )
