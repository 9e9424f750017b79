"""The files of a database that is in use are removed, moved and exchanged by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from bot.process import age as process_age
from bot.storage import open_reader, open_store
from bot.storage.lock import AlreadyRunning, FileLock, number_in
from bot.storage.sqlite import SqliteStore
from lifecycle.ports import StoreUnavailable
from tests.bot.storage.places import URL, in_use, noted
from tests.builders import a_proposal
from tests.processes import unprivileged


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with in_use(tmp_path) as opened:
        yield opened


async def test_nothing_is_decided_in_a_database_that_was_moved_and_all_goes_on_once_it_is_back(
    store: SqliteStore, tmp_path: Path
) -> None:
    there, away = tmp_path / "signoff.db", tmp_path / "away.db"
    there.rename(away)

    with pytest.raises(StoreUnavailable, match=r"signoff\.db was moved, removed or exchanged"):
        await noted(store)
    away.rename(there)
    await noted(store)

    assert await store.read(lambda tx: tx.flags.get("noted")) == 1


#: Writes, has its folder closed by somebody, writes, has it back, writes.
CLOSED = """
import asyncio, os, sys
from pathlib import Path
from bot.storage import open_store
from lifecycle.ports import StoreUnavailable

async def main(folder):
    store = await open_store("sqlite:///signoff.db", folder)
    for mode in (0o000, 0o700):
        os.chmod(folder, mode)
        try:
            await store.write(lambda tx: tx.flags.put("noted", 1))
            print("written")
        except StoreUnavailable as error:
            print(error)
    await store.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_folder_that_was_closed_is_said_to_be_and_not_that_the_database_is_gone(
    tmp_path: Path, root: Path
) -> None:
    done = subprocess.run(
        unprivileged(sys.executable, "-c", CLOSED, str(tmp_path)),
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    closed, *after = done.stdout.splitlines()
    assert f"The bot may not look into {tmp_path} any more" in closed, done
    assert "restore" not in closed
    assert after == ["written"]


async def test_nothing_is_decided_beside_a_database_that_took_its_place(
    store: SqliteStore, tmp_path: Path
) -> None:
    shutil.copy(tmp_path / "signoff.db", tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(tmp_path / "signoff.db")

    with pytest.raises(StoreUnavailable, match="Put back the very file"):
        await noted(store)


async def test_what_a_removed_log_held_stands_in_the_database_after_the_end(tmp_path: Path) -> None:
    store = await open_store(URL, tmp_path)
    await store.write(lambda tx: tx.proposals.add(a_proposal()))
    (tmp_path / "signoff.db-wal").unlink()

    with pytest.raises(StoreUnavailable, match=r"signoff\.db-wal, which holds the newest commits"):
        await store.write(lambda tx: tx.flags.put("noted", 1))
    await store.close()

    reader = await open_reader(URL, tmp_path)
    assert await reader.read(lambda tx: tx.proposals.get("p1")) == a_proposal()
    assert await reader.read(lambda tx: tx.flags.get("noted")) is None
    await reader.close()


async def test_a_database_that_was_just_opened_anew_lies_where_it_lay(tmp_path: Path) -> None:
    for _ in range(2):
        store = await open_store(URL, tmp_path)
        await store.write(lambda tx: tx.flags.put("noted", 1))
        await store.close()


async def test_a_lock_whose_file_was_removed_is_taken_anew_and_keeps_others_out(
    store: SqliteStore, tmp_path: Path
) -> None:
    lock = tmp_path / "signoff.db.lock"
    assert store.keep_lock() is False
    lock.unlink()

    assert store.keep_lock() is True
    assert store.keep_lock() is False

    assert number_in(lock.read_bytes()) == os.getpid()
    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
        FileLock(tmp_path / "signoff.db").take()


async def test_a_lock_that_another_one_took_meanwhile_is_not_shared(
    store: SqliteStore, tmp_path: Path
) -> None:
    (tmp_path / "signoff.db.lock").unlink()
    other = FileLock(tmp_path / "signoff.db")
    other.take()

    with pytest.raises(AlreadyRunning):
        store.keep_lock()
    other.release()


async def test_a_lock_is_taken_where_nobody_mounted_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_age, "_PROC", tmp_path)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    first, second = FileLock(tmp_path / "signoff.db"), FileLock(tmp_path / "signoff.db")

    first.take()

    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
        second.take()
    first.release()
