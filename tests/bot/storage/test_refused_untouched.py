"""A database that this program must not write to is refused before a byte of it has changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.migrations import migrations, newest
from bot.storage.sqlite import SqliteStore

#: The first shape of the tables, before what is to be done next had a column.
BEFORE_THE_FIRST = """
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO migrations VALUES (1, 'initial');
CREATE TABLE proposals (proposal_id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL);
INSERT INTO proposals VALUES ('mail-1', 'pending');
"""
OF_ANOTHER = "CREATE TABLE photos (x); PRAGMA user_version = 7;"


def made(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.executescript(sql)


def of_schema(number: int, then: str = "") -> str:
    """Return what makes a database as a version made it that knew so many migrations."""
    known = [each for each in migrations() if each[0] <= number]
    rows = "".join(f"INSERT INTO migrations VALUES ({n}, '{name}');" for n, name, _ in known)
    ledger = "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    return f"{ledger}{''.join(sql for _, _, sql in known)}{rows}{then}"


NEWER = of_schema(
    newest(), f"INSERT INTO migrations VALUES ({newest() + 1}, 'next'); PRAGMA user_version = 2;"
)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (NEWER, "newer Signoff"),
        (OF_ANOTHER, "another program"),
        (BEFORE_THE_FIRST, "schema 1"),
        (of_schema(5, "ALTER TABLE outbox DROP COLUMN why;"), "lacks outbox.why, which schema 5"),
        (of_schema(newest(), "ALTER TABLE cards DROP COLUMN extra;"), "lacks cards.extra"),
    ],
)
async def test_what_is_refused_keeps_every_byte_and_its_journal_mode(
    tmp_path: Path, sql: str, words: str, beside: bool
) -> None:
    """An older program wrote its own number into a newer database before it refused that, changed
    the journal of a stranger's, and brought one up to date that it could not read then: neither
    it nor the version that had made it could use that any more."""
    path = tmp_path / "signoff.db"
    made(path, sql)
    before = path.read_bytes()

    with pytest.raises(CannotOpen, match=words):
        await SqliteStore.open(path, beside=beside)

    assert path.read_bytes() == before
    assert not path.with_name("signoff.db-wal").exists()


@pytest.mark.parametrize("number", range(len(migrations()) + 1))
async def test_a_database_of_every_older_version_is_brought_up_to_date(
    tmp_path: Path, number: int
) -> None:
    """What looks at its tables first takes none of them for changed."""
    path = tmp_path / "signoff.db"
    made(path, of_schema(number, "CREATE TABLE IF NOT EXISTS sums (of_an_operator);"))

    store = await SqliteStore.open(path)
    try:
        assert await store.read(lambda tx: tx.audit.head()[0]) == 0
    finally:
        await store.close()
