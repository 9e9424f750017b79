"""Of a credential that was masked nothing stays in the database's files (design section 10)."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage.connection import open_plain
from bot.storage.place import Place
from bot.storage.side_file import SideFile
from bot.storage.sqlite import SqliteStore
from tests.builders import MAIL
from tests.stage import staged

SECRET = "AKIAIOSFODNN7EXAMPLZ"


def holding_it(folder: Path) -> list[str]:
    """Return the files in which the credential can be read."""
    files = (path for path in sorted(folder.iterdir()) if path.is_file())
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("padding", ["", "word " * 1_200, "word " * 10_000])
async def test_a_document_that_held_a_credential_stands_in_no_file_once_it_is_refused(
    tmp_path: Path, padding: str
) -> None:
    async with staged(f"sqlite:///{tmp_path}/signoff.db", tmp_path) as world:
        body = f"{padding} the key is {SECRET} as you know"
        answer = await world.submits(MAIL, parameters=MAIL["parameters"] | {"body": body})

        assert answer.reason == "secrets_absent"
        assert holding_it(tmp_path) == []
        assert (await world.submits(MAIL)).state == "sentinel_approved"


async def test_what_a_process_that_died_left_in_the_side_file_goes_at_the_next_start(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    store = await SqliteStore.open(first / "signoff.db")
    await store.write(lambda tx: tx.flags.put("heard", SECRET))
    await store.write(lambda tx: tx.flags.put("heard", None))
    shutil.copytree(first, second)  # as kill -9 leaves it
    await store.close()
    assert holding_it(second) == ["signoff.db-wal"]

    again = await SqliteStore.open(second / "signoff.db")
    await again.write(lambda tx: tx.flags.put("other", 1))

    assert holding_it(second) == []
    assert await again.read(lambda tx: tx.flags.get("other")) == 1
    await again.close()


class Ticks:
    """A clock in seconds that a test turns."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_plain(path, writing=True)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        yield connection


def mask(connection: sqlite3.Connection) -> None:
    """Write it down, and mask it."""
    connection.execute("INSERT INTO notes VALUES (?)", (SECRET,))
    connection.execute("UPDATE notes SET text = 'masked'")


def test_while_somebody_reads_it_waits_for_nobody_and_is_tried_again(
    path: Path, writing: sqlite3.Connection
) -> None:
    ticks = Ticks()
    side_file = SideFile(writing, Place(path), now_s=ticks)
    assert side_file.idle_s() is None
    mask(writing)
    with closing(open_plain(path, writing=False)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT * FROM notes").fetchall()
        side_file.cover()
        for paused_s in (1, 2, 4, 8, 16, 32, 60, 60):
            side_file.empty("patience")
            assert holding_it(path.parent) == ["signoff.db-wal"]
            assert side_file.idle_s() == paused_s
            ticks.now_s += paused_s
        reading.execute("COMMIT")

    side_file.empty("patience")

    assert holding_it(path.parent) == []
    assert writing.execute("PRAGMA busy_timeout").fetchone()[0] == 5000


def test_what_was_kept_until_it_was_worked_goes_a_minute_later(
    path: Path, writing: sqlite3.Connection
) -> None:
    ticks = Ticks()
    side_file = SideFile(writing, Place(path), now_s=ticks)
    side_file.cover()
    side_file.empty("hurry")
    mask(writing)
    assert side_file.idle_s() == 60
    ticks.now_s = 59.9
    side_file.empty("hurry")
    assert holding_it(path.parent) == ["signoff.db-wal"]

    ticks.now_s = 60
    side_file.empty("hurry")

    assert holding_it(path.parent) == []
    assert side_file.idle_s() is None
    assert writing.execute("PRAGMA busy_timeout").fetchone()[0] == 250


def test_a_disk_that_takes_nothing_stops_nobody(path: Path, writing: sqlite3.Connection) -> None:
    ticks = Ticks()
    side_file = SideFile(writing, Place(path), left_over=True, now_s=ticks)
    writing.close()

    side_file.empty("patience")

    assert side_file.idle_s() == 1


def test_whoever_has_many_rows_masked_takes_a_twentieth_of_the_time_from_the_others(
    path: Path, writing: sqlite3.Connection
) -> None:
    """A thousand refused credentials a minute, on a disk that needs 25 ms to empty the file."""
    ticks, began_s = Ticks(), []

    def slow_disk(statement: str) -> None:
        if "wal_checkpoint" in statement:
            began_s.append(ticks.now_s)
            ticks.now_s += 0.025

    writing.set_trace_callback(slow_disk)
    side_file = SideFile(writing, Place(path), now_s=ticks)
    for _ in range(20):  # so few are nobody's trouble
        mask(writing)
        side_file.cover()
        side_file.empty("patience")
        assert holding_it(path.parent) == []
    for _ in range(2_000):
        side_file.cover()
        side_file.empty("patience")
        ticks.now_s += 0.06
    mask(writing)
    side_file.cover()

    # Half a second in advance, and a twentieth of what has passed since.
    assert sum(at > 60 for at in began_s) * 0.025 <= 0.051 * (ticks.now_s - 60)
    assert max(late - early for early, late in itertools.pairwise(began_s)) < 0.7
    ticks.now_s += side_file.idle_s() or 0
    side_file.empty("patience")
    assert holding_it(path.parent) == []


def test_it_is_left_as_it_is_where_another_file_was_put_in_the_place_of_the_database(
    path: Path, writing: sqlite3.Connection
) -> None:
    """The file that was put there lacks the newest commits, and nothing else holds them."""
    ticks = Ticks()
    side_file = SideFile(writing, Place(path), now_s=ticks)
    mask(writing)
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)
    side_file.cover()

    side_file.empty("patience")

    assert side_file.idle_s() == 1
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


async def test_an_idle_store_goes_on_serving_and_ends(path: Path) -> None:
    store = await SqliteStore.open(path)
    for number in range(3):
        await store.write(lambda tx, number=number: tx.flags.put("n", number))  # type: ignore[misc]
        await asyncio.sleep(0)
    assert await store.read(lambda tx: tx.flags.get("n")) == 2
    await store.close()


def test_what_is_deleted_is_written_over_whatever_this_build_of_sqlite_does_by_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(*given: Any, **named: Any) -> sqlite3.Connection:
        made = connect(*given, **named)
        made.execute("PRAGMA secure_delete = OFF")
        return made

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", careless)
    with closing(open_plain(path, writing=True)) as connection:
        assert connection.execute("PRAGMA secure_delete").fetchone()[0] == 1


def test_it_is_left_as_it_is_where_the_database_was_cut_short(
    path: Path, writing: sqlite3.Connection
) -> None:
    """Emptied into it, it would make the database as long as it was, with zeros in between."""
    ticks = Ticks()
    writing.executemany("INSERT INTO notes VALUES (?)", [("x" * 4_000,)] * 9)
    writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writing.execute("INSERT INTO notes VALUES (?)", (SECRET,))
    side_file = SideFile(writing, Place(path), now_s=ticks)
    os.truncate(path, 20_480)
    side_file.cover()

    side_file.empty("patience")

    assert path.stat().st_size == 20_480
    assert side_file.idle_s() == 1
