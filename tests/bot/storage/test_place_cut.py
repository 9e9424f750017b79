"""The files of a database that is in use are cut short, folded and packed by hand."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from bot.storage.connection import open_plain
from bot.storage.logged_pages import LOG_HEAD
from bot.storage.place import Held, Place
from bot.storage.sqlite import SqliteStore
from bot.trail import verified_in
from lifecycle.ports import StoreUnavailable
from tests.bot.storage.places import in_use, noted

SIZES = ("page_count", "page_size")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with in_use(tmp_path) as opened:
        yield opened


def emptied(folder: Path) -> None:
    """Fold the log into the database and empty it, as anybody may who opens both."""
    with closing(sqlite3.connect(folder / "signoff.db")) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


async def test_a_log_that_was_folded_into_its_database_is_no_trouble(
    store: SqliteStore, tmp_path: Path
) -> None:
    for _ in range(2):
        emptied(tmp_path)
        assert (tmp_path / "signoff.db-wal").stat().st_size == 0
        await noted(store)

    assert await store.read(lambda tx: tx.flags.get("noted")) == 1


async def test_a_log_that_is_emptied_while_it_is_read_is_no_trouble(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store stopped: nothing was decided any more until the next start of the bot."""
    read, emptied_at = os.pread, list[int]()

    def emptied_before(number: int, size: int, at: int) -> bytes:
        if at >= LOG_HEAD and not emptied_at:
            emptied_at.append(at)
            emptied(tmp_path)
        return read(number, size, at)

    await noted(store)
    os.utime(tmp_path / "signoff.db")  # as whoever folds the log leaves it
    monkeypatch.setattr(os, "pread", emptied_before)

    for _ in range(2):
        await noted(store)

    assert emptied_at


@pytest.mark.parametrize("left", [0, 40, 5_000])
async def test_nothing_is_decided_behind_a_log_that_was_cut_short(
    store: SqliteStore, tmp_path: Path, left: int
) -> None:
    """Whoever frees a full disk cuts what is large and in use."""
    log = tmp_path / "signoff.db-wal"
    await noted(store)
    os.truncate(log, left)

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"signoff\.db-wal, .* was cut short"):
            await noted(store)

    assert log.stat().st_size == left


def partly_folded(folder: Path) -> tuple[int, int]:
    """Fold what nobody still needs; return how many pages the log holds, and how many went."""
    with closing(sqlite3.connect(folder / "signoff.db")) as other:
        _, frames, folded = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return frames, folded


def flags_in(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "signoff.db")) as other:
        return [row[0] for row in other.execute("SELECT name FROM flags ORDER BY name")]


@pytest.mark.parametrize("lost", [1, 4_120, 8_240])
async def test_nothing_is_decided_behind_a_log_that_lost_no_more_than_the_last_commit(
    store: SqliteStore, tmp_path: Path, lost: int
) -> None:
    log = tmp_path / "signoff.db-wal"
    await store.write(lambda tx: tx.flags.put("much", "0" * 40_000))
    os.truncate(log, log.stat().st_size - lost)

    with pytest.raises(StoreUnavailable, match=r"signoff\.db-wal, .* was cut short"):
        await noted(store)


async def test_a_log_that_was_cut_is_not_written_to_as_long_as_somebody_reads_it(
    store: SqliteStore, tmp_path: Path
) -> None:
    """All that it held stands in the database, and the next commit would stand behind the hole."""
    await noted(store)
    with closing(sqlite3.connect(tmp_path / "signoff.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM flags").fetchall()
        frames, folded = partly_folded(tmp_path)
        os.truncate(tmp_path / "signoff.db-wal", 0)

        with pytest.raises(StoreUnavailable, match=r"signoff\.db-wal, .* was cut short"):
            await noted(store)

    await store.write(lambda tx: tx.flags.put("again", 1))
    assert frames == folded
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for side in ("signoff.db", "signoff.db-wal"):
        shutil.copyfile(tmp_path / side, crashed / side)
    assert "again" in flags_in(crashed)


async def with_room_to_spare(store: SqliteStore, folder: Path) -> Path:
    """Let the database grow, and return the path of what could be packed now."""
    await store.write(lambda tx: tx.flags.put("much", "0" * 400_000))
    await store.write(lambda tx: tx.flags.put("much", "0"))
    emptied(folder)
    await noted(store)
    return folder / "signoff.db"


async def test_a_database_that_somebody_packed_is_no_trouble(
    store: SqliteStore, tmp_path: Path
) -> None:
    database = await with_room_to_spare(store, tmp_path)
    large = database.stat().st_size
    with closing(sqlite3.connect(database)) as other:
        other.execute("VACUUM")
    emptied(tmp_path)

    for _ in range(2):
        await noted(store)

    assert database.stat().st_size < large
    os.truncate(database, database.stat().st_size // 2)
    with pytest.raises(StoreUnavailable, match=r"signoff\.db became shorter"):
        await noted(store)


async def test_a_packed_database_that_grows_again_behind_a_reader_is_no_trouble(
    store: SqliteStore, tmp_path: Path
) -> None:
    """What it lacks at its end stands in the log."""
    database = await with_room_to_spare(store, tmp_path)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("VACUUM")
        emptied(tmp_path)
        with closing(sqlite3.connect(database, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM flags").fetchall()
            other.execute("INSERT INTO flags VALUES ('more', ?)", ("0" * 100_000,))

            await noted(store)

        await noted(store)
        emptied(tmp_path)
        await noted(store)


def test_where_nobody_can_look_nobody_is_told_to_restore_a_copy(tmp_path: Path) -> None:
    def looked(error: Exception) -> Held:
        raise error

    for side in ("signoff.db", "signoff.db-wal"):
        (tmp_path / side).write_bytes(b"0" * 9_000)
    place = Place(tmp_path / "signoff.db")
    os.truncate(tmp_path / "signoff.db-wal", 0)

    for error in (MemoryError(), sqlite3.OperationalError("database or disk is full")):
        words = place.shorter(partial(looked, error)) or ""
        assert "cannot look whether it was cut" in words
        assert "restore" not in words
    assert place.shorter(lambda: Held(0, 0)) is None


async def test_nothing_is_decided_in_a_database_that_another_file_was_copied_over(
    store: SqliteStore, tmp_path: Path
) -> None:
    older = tmp_path / "older.db"
    emptied(tmp_path)
    shutil.copyfile(tmp_path / "signoff.db", older)
    await store.write(lambda tx: tx.flags.put("much", "0" * 400_000))
    emptied(tmp_path)
    await noted(store)

    shutil.copyfile(older, tmp_path / "signoff.db")

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"signoff\.db became shorter"):
            await noted(store)


@pytest.mark.parametrize("lost", [1, 4_096, 40_960])
async def test_a_database_that_was_cut_is_not_filled_up_from_the_log_with_zeros_in_between(
    store: SqliteStore, tmp_path: Path, lost: int
) -> None:
    """What is folded makes it as long as it was, and nobody sees any more that pages are gone."""
    database = tmp_path / "signoff.db"
    emptied(tmp_path)
    await noted(store)
    left = database.stat().st_size - lost
    os.truncate(database, left)

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"signoff\.db became shorter"):
            await noted(store)

    assert database.stat().st_size == left


async def test_what_was_folded_already_is_lost_with_the_database_though_the_log_still_holds_it(
    store: SqliteStore, tmp_path: Path
) -> None:
    """It is not folded once more: what stood behind it was, and zeros stood in its place."""
    database = tmp_path / "signoff.db"
    await store.write(lambda tx: tx.flags.put("much", "0" * 400_000))
    with closing(sqlite3.connect(database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM flags").fetchall()
        await store.write(lambda tx: tx.flags.put("more", "0" * 40_000))
        frames, folded = partly_folded(tmp_path)
        await noted(store)
    left = database.stat().st_size // 2
    os.truncate(database, left)

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"signoff\.db became shorter"):
            await noted(store)

    assert folded < frames
    assert database.stat().st_size == left


async def test_whoever_verifies_what_is_left_of_a_database_that_was_cut_is_told(
    tmp_path: Path,
) -> None:
    """As people are told they stop the bot. Its end folds the log, with zeros where pages are lost,
    and no entry and no row may be among those."""
    database = tmp_path / "signoff.db"
    async with in_use(tmp_path) as store:
        await store.write(lambda tx: tx.flags.put("much", "0" * 400_000))
        emptied(tmp_path)
        await store.write(lambda tx: tx.flags.put("more", "0" * 40_000))
        os.truncate(database, database.stat().st_size - 40_960)
        with pytest.raises(StoreUnavailable, match=r"signoff\.db became shorter"):
            await noted(store)

    reader = await SqliteStore.open_reader(database)
    try:
        found = (await verified_in(reader, None, lambda _: None)).problems
    finally:
        await reader.close()
    assert [words for words in found if "the database is damaged" in words]


def test_a_database_that_was_cut_lacks_what_no_commit_in_the_log_holds(tmp_path: Path) -> None:
    database = tmp_path / "signoff.db"
    with closing(open_plain(database, writing=True)) as writing:
        writing.execute("CREATE TABLE notes (text)")
        writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        place = Place(database)
        writing.execute("INSERT INTO notes VALUES (?)", ("0" * 40_000,))
        pages, page_bytes = (writing.execute(f"PRAGMA {of}").fetchone()[0] for of in SIZES)
        os.truncate(database, page_bytes)
        logged = not place.lacks_pages(pages, page_bytes)
        os.truncate(tmp_path / "signoff.db-wal", 40_000)

        assert logged
        assert place.lacks_pages(pages, page_bytes)
