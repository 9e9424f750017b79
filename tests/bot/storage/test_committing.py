"""A commit that raises has left nothing, and one that has left something does not raise."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from bot.storage.committing import commit
from tests.conftest import ROOT

#: Commits one row after the other, each time without memory for another one of the objects that
#: Python makes meanwhile, and prints of which rows it was told otherwise than they are.
_STARVED = """
import _testcapi, sqlite3, sys
from bot.storage.committing import commit

plain, beside = (sqlite3.connect(sys.argv[1], isolation_level=None) for _ in range(2))
plain.execute("PRAGMA journal_mode = WAL")
plain.execute("CREATE TABLE made (name INTEGER PRIMARY KEY)")
otherwise = []
for left in reversed(range(50)):  # at first with enough, so that statements are prepared
    name = 1_000 + left
    plain.execute("BEGIN IMMEDIATE")
    plain.execute("INSERT INTO made VALUES (?)", (name,))
    told = True
    try:
        _testcapi.set_nomemory(left, left + 1)
        commit(plain)
    except MemoryError:
        told = False
    finally:
        _testcapi.remove_mem_hooks()
    plain.rollback()
    done = beside.execute("SELECT name FROM made WHERE name = ?", (name,)).fetchone() is not None
    otherwise += [name] if told != done else []
print(otherwise)
"""


@pytest.mark.skipif(find_spec("_testcapi") is None, reason="this Python can starve nothing")
def test_a_commit_without_memory_is_told_as_what_it_is(path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", _STARVED, str(path)],
        cwd=ROOT,
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )

    assert said.stdout.strip() == "[]", said.stderr


def test_a_commit_that_is_refused_leaves_nothing_of_it_under_way(path: Path) -> None:
    def no_commit(_action: int, what: str | None, *_: str | None) -> int:
        return sqlite3.SQLITE_DENY if what == "COMMIT" else sqlite3.SQLITE_OK

    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("CREATE TABLE made (name)")
        plain.execute("BEGIN")
        plain.execute("INSERT INTO made VALUES (1)")
        plain.set_authorizer(no_commit)
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            commit(plain)

        assert not plain.in_transaction
        assert plain.execute("SELECT * FROM made").fetchall() == []
