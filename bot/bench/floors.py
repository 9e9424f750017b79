"""Measures the floors: what plain SQLite does with the same durable, audited moves, without a law.

They include what every implementation needs: the rows, the partial indices for the queries of a
running bot (what is pending, what is due, what is a duplicate, one trail), and the chain.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Final

#: Durable, audited moves of one life: submitted, approved by Sentinel, reviewed, begun, ended.
MOVES: Final = 5
_TABLES: Final = (
    "CREATE TABLE proposals (id TEXT PRIMARY KEY, state TEXT, version INTEGER, due_ms INTEGER,"
    " content TEXT, document BLOB)",
    "CREATE TABLE audit (seq INTEGER PRIMARY KEY, proposal_id TEXT, entry TEXT, hash TEXT)",
    "CREATE INDEX pending ON proposals (due_ms) WHERE state IN ('state-0', 'state-1', 'state-2')",
    "CREATE INDEX due ON proposals (due_ms) WHERE state = 'state-3'",
    "CREATE INDEX alike ON proposals (content) WHERE state <> 'state-4'",
    "CREATE INDEX trail ON audit (proposal_id)",
)


def floor_per_s(file: Path, lifecycles: int, *, together: int) -> float:
    """Return lifecycles a second with `together` of them in each commit (1: one commit a move)."""
    database = _opened(file)
    head = ""
    began = time.perf_counter()
    for first in range(0, lifecycles, together):
        batch = range(first, min(first + together, lifecycles))
        for move in range(MOVES):
            database.execute("BEGIN IMMEDIATE")
            for number in batch:
                head = _move(database, number, move, head)
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


def _move(database: sqlite3.Connection, number: int, move: int, head: str) -> str:
    """Write one move and its entry in the trail; return the hash that the next one names."""
    proposal_id = f"proposal-{number}"
    if move == 0:
        database.execute(
            "INSERT INTO proposals VALUES (?, ?, ?, ?, ?, ?)",
            (proposal_id, "state-0", 0, number, f"sha256:{number:064x}", b"x" * 800),
        )
    else:
        database.execute(
            "UPDATE proposals SET state = ?, version = ? WHERE id = ? AND version = ?",
            (f"state-{move}", move, proposal_id, move - 1),
        )
    entry = "y" * 300
    head = hashlib.sha256(f"{head}:{entry}".encode()).hexdigest()
    database.execute(
        "INSERT INTO audit (proposal_id, entry, hash) VALUES (?, ?, ?)", (proposal_id, entry, head)
    )
    return head
