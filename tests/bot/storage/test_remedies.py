"""What keeps a database from being used is named with what a person can do about it."""

# ruff: noqa: ASYNC240 - nobody else waits for the loop of a test

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage import CannotOpen, open_reader, open_store
from bot.storage.connection import open_plain
from bot.storage.copies import back_up, bring_back
from bot.storage.lock import FileLock, path_of_lock
from bot.storage.read_only import read_only
from bot.storage.remedies import remedy
from bot.storage.sqlite import SqliteStore
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from tests.bot.read_only import is_read_only
from tests.builders import a_proposal

URL = "sqlite:///signoff.db"
OPENINGS = (open_store, open_reader)

Opening = Callable[[str, Path], Coroutine[Any, Any, ProposalStore]]


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    """A database with a proposal in it."""
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    await store.write(lambda tx: tx.proposals.add(a_proposal()))
    await store.close()
    return path


@pytest.mark.parametrize("older", [(3, 30, 1), (3, 26, 0)])
async def test_a_sqlite_that_is_too_old_is_named_and_calls_no_database_damaged(
    database: Path, monkeypatch: pytest.MonkeyPatch, older: tuple[int, int, int]
) -> None:
    """A first start ended with `near "AS": syntax error` and left half a database behind."""
    before = database.read_bytes()
    fresh = database.parent / "fresh"
    fresh.mkdir()
    version = ".".join(map(str, older))
    monkeypatch.setattr(sqlite3, "sqlite_version_info", older)
    monkeypatch.setattr(sqlite3, "sqlite_version", version)
    needs = rf"SQLite {version}, and Signoff needs 3\.31\.0 or newer.*needs no repair\.\Z"

    for opening in OPENINGS:
        with pytest.raises(CannotOpen, match=needs):
            await opening(URL, database.parent)
    with pytest.raises(CannotOpen, match=needs):
        await open_store(URL, fresh)
    with pytest.raises(CannotOpen, match=needs):
        back_up(database, database.with_name("copy.db"))
    with pytest.raises(CannotOpen, match=needs):
        bring_back(database, fresh / "signoff.db")

    assert database.read_bytes() == before
    assert not (fresh / "signoff.db").exists()
    assert not database.with_name("copy.db").exists()


@pytest.mark.parametrize("opening", OPENINGS)
async def test_a_damaged_database_is_told_with_the_way_back(
    database: Path, opening: Opening
) -> None:
    os.truncate(database, database.stat().st_size // 2)

    with pytest.raises(CannotOpen, match=r"malformed.* bring a copy back with: signoff restore"):
        await opening(URL, database.parent)
    with pytest.raises(CannotOpen, match="bring a copy back with"):
        back_up(database, database.with_name("copy.db"))
    with pytest.raises(CannotOpen) as refused:
        bring_back(database, database.with_name("other.db"))
    assert "restore FILE" not in str(refused.value)  # that is what was tried


async def test_a_log_that_was_removed_under_a_running_bot_is_named_with_what_to_do(
    database: Path,
) -> None:
    """It was told as a disk that is full, or failing."""
    store = await SqliteStore.open(database)
    await store.write(lambda tx: tx.flags.put("noted", 1))
    database.with_name("signoff.db-wal").unlink()

    with pytest.raises(CannotOpen) as refused:
        await open_reader(URL, database.parent)
    await store.close()

    assert "signoff.db-wal was removed" in str(refused.value)
    assert "stop that with SIGTERM" in str(refused.value)
    assert "disk is full" not in str(refused.value)


async def test_a_log_that_was_emptied_is_named_with_a_remedy_that_loses_no_more(
    database: Path,
) -> None:
    """To start again was all that was said: what the lost commits had begun would begin anew."""
    store = await SqliteStore.open(database)
    await store.write(lambda tx: tx.flags.put("noted", 1))
    os.truncate(database.with_name("signoff.db-wal"), 0)

    with pytest.raises(CannotOpen, match=r"emptied, commits are lost: .* signoff restore FILE"):
        await open_reader(URL, database.parent)
    await store.close()


@pytest.mark.parametrize("sides", [[], ["-shm"]], ids=["alone", "with its index"])
async def test_a_copy_without_its_log_is_told_how_copies_are_made(
    tmp_path: Path, sides: list[str]
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    store = await SqliteStore.open(tmp_path / "signoff.db")
    await store.write(lambda tx: tx.proposals.add(a_proposal()))
    for side in ["", *sides]:
        shutil.copy(tmp_path / f"signoff.db{side}", away)

    with pytest.raises(CannotOpen, match=r"stand in the -wal .* signoff backup FILE"):
        await open_reader(URL, away)
    await store.close()


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("made", [os.mkdir, os.mkfifo])
async def test_what_is_no_file_is_no_database_and_nobody_waits_for_it(
    tmp_path: Path, made: Callable[[Path], None], opening: Opening
) -> None:
    made(tmp_path / "signoff.db")

    with pytest.raises(CannotOpen, match="is no file: name one"):
        await opening(URL, tmp_path)


def test_a_database_that_another_program_holds_is_told_with_what_to_do(database: Path) -> None:
    with (
        closing(sqlite3.connect(database, isolation_level=None)) as other,
        closing(sqlite3.connect(database, isolation_level=None, timeout=0)) as ours,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as refused:
            ours.execute("BEGIN IMMEDIATE")

    assert "end that one, or let it finish" in remedy(refused.value, database)


def test_an_empty_file_in_the_place_of_the_database_is_no_silent_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "signoff.db"
    open_plain(path, writing=True).close()
    assert caplog.messages == []

    os.truncate(path, 0)
    with caplog.at_level(logging.WARNING):
        open_plain(path, writing=True).close()

    (told,) = caplog.messages
    assert f"{path} is an empty file" in told
    assert "signoff restore" in told


def test_a_link_that_leads_back_to_itself_is_named(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    path.symlink_to(path)

    with pytest.raises(CannotOpen, match="a link that leads nowhere"):
        path_of_lock(path)


def test_a_lock_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    lock = FileLock(tmp_path / "signoff.db")
    for _ in range(2):  # the second is no AlreadyRunning: the first let go
        with pytest.raises(CannotOpen, match=r"signoff\.db\.lock cannot be written: No space left"):
            lock.take()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
async def test_a_disk_without_locks_is_named_and_not_another_process(
    database: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whoever copied to such a disk was to wait for the end of a process that was none."""

    def has_none(*_given: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", has_none)

    words = rf"{os.strerror(number)}\. That disk has no locks: use a local"
    with pytest.raises(CannotOpen, match=words):
        back_up(database, database.with_name("copy.db"))
    with pytest.raises(CannotOpen, match="That disk has no locks"):
        await SqliteStore.open(database)


def test_a_lock_file_that_nobody_may_make_there_says_what_signoff_needs() -> None:
    with pytest.raises(CannotOpen, match=r"Signoff must be able to write in that folder\.$"):
        FileLock(Path("/sys/signoff.db")).take()


async def test_a_restore_into_a_folder_that_is_a_file_is_refused_with_its_name(
    database: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").touch()

    with pytest.raises(
        CannotOpen, match=r"cannot take the place of .*data: a file is in its place"
    ):
        bring_back(database, tmp_path / "data" / "signoff.db")


async def test_a_path_that_is_too_long_for_sqlite_is_named_as_that(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 200) / ("b" * 200)
    folder.mkdir(parents=True)
    longest = folder / ("c" * (504 - len(f"{folder}/")))

    await (await SqliteStore.open(longest)).close()
    with pytest.raises(CannotOpen, match=r"no path of more than 504 bytes: put it higher up\.$"):
        await SqliteStore.open(folder / f"{longest.name}d")


@pytest.mark.parametrize(
    ("options", "found"),
    [(b"rw,errors=remount-ro,emergency_ro", True), (b"rw,errors=remount-ro", False)],
)
async def test_a_disk_that_stopped_writing_after_an_error_is_read_only_though_it_is_mounted_rw(
    database: Path, tmp_path: Path, options: bytes, found: bool
) -> None:
    """From Linux 6.15 on ext4 does so; `status` found nothing wrong, and the bot had no way to
    say that it could write nothing."""
    device, mounts = database.stat().st_dev, tmp_path / "mountinfo"
    numbers = f"{os.major(device)}:{os.minor(device)}".encode()
    other = b"27 1 253:9 / / rw,relatime - ext4 /dev/vdz rw,emergency_ro\n"
    ours = b"43 27 %s / /srv rw,relatime - ext4 /dev/vda " % numbers
    mounts.write_bytes(other + ours + options + b"\n")

    assert read_only(database, mounts) is found


@pytest.mark.parametrize("asks", ["write", "read"])
async def test_what_an_open_store_could_not_do_on_a_read_only_disk_is_told_as_at_its_opening(
    database: Path, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    """`freeze` beside a bot, and the bot itself, said that the disk may be full or failing."""
    store = await SqliteStore.open(database)
    is_read_only(monkeypatch)

    def fails(_tx: Transaction) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    with pytest.raises(StoreUnavailable, match=r"disk I/O error\. Its disk is mounted read-only"):
        await getattr(store, asks)(fails)
    await store.close()


def test_a_lock_is_released_on_a_disk_that_takes_nothing_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a bot on such a disk was told as an error that nobody knows."""

    def refuses(_descriptor: int, _size: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    lock = FileLock(tmp_path / "signoff.db")
    lock.take()
    with monkeypatch.context() as failing:
        failing.setattr(os, "ftruncate", refuses)
        lock.release()

    FileLock(tmp_path / "signoff.db").take()
