"""A database that this program must not write to is refused before a byte of it has changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.copies import back_up, bring_back
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

#: An operator's own table, made where SQLite knew of something that it does not know of here.
VIRTUAL = """
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
PRAGMA writable_schema = ON;
INSERT INTO sqlite_master VALUES
    ('table', 'found', 'found', 0, 'CREATE VIRTUAL TABLE found USING somebodys_search(words)');
"""
#: A column that is lacking is met by nobody who looks while no row stands there.
DROPPED = of_schema(newest(), "ALTER TABLE reviews RENAME COLUMN void_why TO was_void;")


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


async def test_a_table_of_an_operator_that_works_elsewhere_alone_keeps_nobody_out(
    tmp_path: Path,
) -> None:
    """Its columns cannot be asked for here, and nobody needs them."""
    path = tmp_path / "signoff.db"
    made(path, VIRTUAL)

    store = await SqliteStore.open(path)
    try:
        assert await store.read(lambda tx: tx.audit.head()[0]) == 0
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("sql", "words"), [(DROPPED, "lacks reviews.void_why"), (BEFORE_THE_FIRST, "schema 1")]
)
async def test_who_only_reads_a_database_refuses_it_where_it_lacks_a_column(
    tmp_path: Path, sql: str, words: str
) -> None:
    """`audit verify` found that every row says the same, or ended with an error of Python's."""
    path = tmp_path / "signoff.db"
    made(path, sql)
    before = path.read_bytes()

    with pytest.raises(CannotOpen, match=words):
        await SqliteStore.open_reader(path)

    assert path.read_bytes() == before


def test_no_copy_is_made_or_brought_back_of_a_database_that_lacks_a_column(tmp_path: Path) -> None:
    """A backup said that all was well and could never be used; what a restore had begun of one
    stayed behind, and kept the next start from making a database."""
    path, fresh = tmp_path / "old" / "signoff.db", tmp_path / "new" / "signoff.db"
    path.parent.mkdir()
    made(path, DROPPED)

    with pytest.raises(CannotOpen, match=r"lacks reviews\.void_why"):
        back_up(path, tmp_path / "copy.db")
    with pytest.raises(CannotOpen, match=r"lacks reviews\.void_why"):
        bring_back(path, fresh)

    assert not (tmp_path / "copy.db").exists()
    assert not list(fresh.parent.glob("*.restored"))
