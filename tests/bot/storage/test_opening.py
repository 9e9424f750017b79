"""What cannot work stops the start with a sentence; nothing is half open afterwards."""

# ruff: noqa: ASYNC220, ASYNC221, ASYNC240 - nobody else waits for the loop of a test

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage import CannotOpen, open_reader, open_store, path_of
from bot.storage.connection import open_plain
from bot.storage.lock import AlreadyRunning, FileLock, number_in
from bot.storage.memory import MemoryStore
from bot.storage.migrations import migrate, migrations
from bot.storage.sqlite import SqliteStore
from tests.builders import a_proposal

URL = "sqlite:///data/signoff.db"


def made_by_hand(path: Path, sql: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.executescript(sql)


async def test_a_relative_path_is_relative_to_the_folder_of_the_config(tmp_path: Path) -> None:
    store = await open_store(URL, tmp_path)
    await store.close()

    assert (tmp_path / "data" / "signoff.db").is_file()
    assert path_of("sqlite:////srv/x.db", tmp_path) == Path("/srv/x.db")


async def test_memory_needs_no_file(tmp_path: Path) -> None:
    store = await open_store("memory:", tmp_path)

    assert isinstance(store, MemoryStore)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://db/signoff", "not supported yet"),
        ("mysql://db", "is not known"),
        ("sqlite:///", "is not known"),
        ("data/signoff.db", "is not known"),
    ],
)
async def test_what_is_no_store_is_named(tmp_path: Path, url: str, words: str) -> None:
    with pytest.raises(CannotOpen, match=words):
        await open_store(url, tmp_path)


async def test_another_process_cannot_look_into_memory(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen, match="memory"):
        await open_reader("memory:", tmp_path)


async def test_wal_and_full_synchronisation_are_in_force(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    with closing(open_plain(path, writing=True)) as plain:
        told = [
            plain.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]

    assert told == ["wal", 2, 1, 5000]


async def test_a_second_process_does_not_start_and_hears_who_is_there(tmp_path: Path) -> None:
    store = await open_store(URL, tmp_path)
    program = (
        "import asyncio, pathlib, sys\n"
        "from bot.storage import open_store\n"
        "asyncio.run(open_store(sys.argv[1], pathlib.Path(sys.argv[2])))\n"
    )

    second = subprocess.run(
        [sys.executable, "-c", program, URL, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    await store.close()

    assert second.returncode == 1
    assert f"in use by process {os.getpid()}" in second.stderr
    await (await open_store(URL, tmp_path)).close()


def is_free(database: Path) -> bool:
    """Say whether the lock can be taken; it is let go at once."""
    lock = FileLock(database)
    try:
        lock.take()
    except AlreadyRunning:
        return False
    lock.release()
    return True


async def test_the_lock_file_names_its_holder_and_nobody_afterwards(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "signoff.db")
    lock.take()

    assert number_in(lock.path.read_bytes()) == os.getpid()
    with pytest.raises(AlreadyRunning, match=f"in use by process {os.getpid()}"):
        FileLock(lock.database).take()

    lock.release()
    assert number_in(lock.path.read_bytes()) is None
    assert is_free(lock.database)


async def test_children_do_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    lock = FileLock(path)
    lock.take()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False
    ) as child:
        lock.release()
        free = is_free(path)
        child.communicate(b"\n")

    assert free


async def test_reading_and_flags_work_beside_a_running_bot(tmp_path: Path) -> None:
    store = await open_store(URL, tmp_path)
    await store.write(lambda tx: tx.proposals.add(a_proposal()))
    reader = await open_reader(URL, tmp_path)
    beside = await open_store(URL, tmp_path, beside=True)

    await beside.write(lambda tx: tx.flags.put("freeze", {"reason": "fire"}))

    assert await reader.read(lambda tx: tx.proposals.get("p1")) == a_proposal()
    assert await store.read(lambda tx: tx.flags.get("freeze")) == {"reason": "fire"}
    for opened in (reader, beside, store):
        await opened.close()


async def test_reading_needs_no_running_bot_and_changes_nothing(tmp_path: Path) -> None:
    store = await open_store(URL, tmp_path)
    await store.write(lambda tx: tx.proposals.add(a_proposal()))
    await store.close()
    before = (tmp_path / "data" / "signoff.db").read_bytes()

    reader = await open_reader(URL, tmp_path)
    assert await reader.read(lambda tx: tx.proposals.get("p1")) == a_proposal()
    await reader.close()

    assert (tmp_path / "data" / "signoff.db").read_bytes() == before


@pytest.mark.parametrize("beside", [True, False])
async def test_nothing_is_made_by_who_only_reads_or_stands_beside(
    tmp_path: Path, beside: bool
) -> None:
    with pytest.raises(CannotOpen, match="signoff run"):
        await (open_store(URL, tmp_path, beside=True) if beside else open_reader(URL, tmp_path))

    assert list(tmp_path.iterdir()) == []


async def test_a_database_of_a_newer_signoff_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "signoff.db"
    await (await open_store(URL, tmp_path)).close()
    made_by_hand(path, "INSERT INTO migrations VALUES (999, 'future');")

    for opening in (open_store, open_reader):
        with pytest.raises(CannotOpen, match="newer Signoff"):
            await opening(URL, tmp_path)
    assert is_free(path)


async def test_a_reader_does_not_migrate(tmp_path: Path) -> None:
    await (await open_store(URL, tmp_path)).close()
    made_by_hand(tmp_path / "data" / "signoff.db", "DELETE FROM migrations;")

    with pytest.raises(CannotOpen, match="older Signoff"):
        await open_reader(URL, tmp_path)


async def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "signoff.db"
    made_by_hand(path, "CREATE TABLE photos (x);")

    with pytest.raises(CannotOpen, match="another program"):
        await open_store(URL, tmp_path)

    with closing(sqlite3.connect(path)) as plain:
        assert [row[0] for row in plain.execute("SELECT name FROM sqlite_master")] == ["photos"]


async def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    path.write_text("This is a letter, not a database. " * 99, encoding="utf-8")

    with pytest.raises(CannotOpen, match="not a database"):
        await SqliteStore.open(path)

    assert is_free(path)


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_migration_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "signoff.db"
    known = migrations()
    twice = "CREATE TABLE half (x); CREATE TABLE half (x);"
    broken = [*known, (len(known) + 1, "broken", twice)]
    monkeypatch.setattr("bot.storage.migrations.migrations", lambda: broken)
    with closing(open_plain(path, writing=True)) as plain:
        with pytest.raises(sqlite3.OperationalError):
            migrate(plain, path)

        tables = {row[0] for row in plain.execute("SELECT name FROM sqlite_master")}
        applied = plain.execute("SELECT max(number) FROM migrations").fetchone()[0]

    assert "half" not in tables
    assert applied == len(known)


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    with closing(open_plain(path, writing=True)) as plain:
        migrate(plain, path)
        before = [tuple(row) for row in plain.execute("SELECT * FROM sqlite_master")]
        migrate(plain, path)

        assert [tuple(row) for row in plain.execute("SELECT * FROM sqlite_master")] == before


@pytest.mark.parametrize("opened", [open_store, open_reader])
async def test_a_schema_that_holds_what_is_no_text_is_damage(tmp_path: Path, opened: Any) -> None:
    """Python cannot read the words in which SQLite quotes it, and no command said what to do."""
    await (await open_store(URL, tmp_path)).close()
    unread = "CAST(replace(CAST(sql AS BLOB), CAST(')' AS BLOB), x'279d29') AS TEXT)"
    made_by_hand(
        tmp_path / "data" / "signoff.db",
        f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = {unread} "
        "WHERE name = 'board'",
    )
    with pytest.raises(CannotOpen, match=r"malformed database schema\. It is damaged: .* restore"):
        await opened(URL, tmp_path)
