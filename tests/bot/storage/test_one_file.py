"""The database file itself is held while a store is open for writing, whatever its name."""

# ruff: noqa: ASYNC240 - nobody else waits for the loop of a test

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sys
from pathlib import Path

import pytest

from bot.storage import CannotOpen, open_reader, open_store
from bot.storage.copies import back_up, bring_back
from bot.storage.lock import AlreadyRunning, FileLock, path_of_lock
from bot.storage.one_file import OneFile, refuse_other_name
from tests.bot.storage.copied import filled, held

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has such locks")
WORDS = "under another name"


@pytest.fixture
def names(tmp_path: Path) -> tuple[Path, Path]:
    """A file, and a hard link to it."""
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    first.touch()
    second.hardlink_to(first)
    return first, second


def test_one_file_is_held_once_and_free_again_afterwards(names: tuple[Path, Path]) -> None:
    first, second = map(OneFile, names)
    first.take()

    with pytest.raises(CannotOpen, match=WORDS):
        second.take()
    with pytest.raises(CannotOpen, match=WORDS):
        refuse_other_name(names[1])

    first.release()
    refuse_other_name(names[1])
    second.take()
    second.release()


def test_to_look_whether_it_is_held_holds_nothing(names: tuple[Path, Path]) -> None:
    refuse_other_name(names[0])

    one_file = OneFile(names[1])
    one_file.take()
    one_file.release()


def test_who_is_refused_or_only_looks_keeps_no_file_open(names: tuple[Path, Path]) -> None:
    """A command that is tried again and again would have no more files to open in the end."""
    one_file, lock = OneFile(names[0]), FileLock(names[0])
    one_file.take()
    lock.take()

    with pytest.raises(CannotOpen, match=WORDS):
        OneFile(names[1]).take()
    with pytest.raises(CannotOpen, match=WORDS):
        refuse_other_name(names[1])
    with pytest.raises(AlreadyRunning):
        FileLock(names[0]).take()
    refuse_other_name(names[0])

    opened = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    of_these = sorted(Path(each).name for each in opened if Path(each).parent == names[0].parent)
    assert of_these == ["first.db", "first.db.lock"]
    lock.release()
    for _ in range(2):  # the second lets go of nothing
        one_file.release()


def test_a_bot_that_has_the_lock_of_this_name_works_with_it_under_this_name(
    names: tuple[Path, Path],
) -> None:
    """Its number, by which other commands know it, means nothing outside its container."""
    one_file, lock = OneFile(names[0]), FileLock(names[1])
    one_file.take()
    lock.take()
    lock.path.write_bytes(b"1\n")

    refuse_other_name(names[1])
    with pytest.raises(CannotOpen, match=WORDS):
        refuse_other_name(names[0])

    lock.release()
    one_file.release()


def test_a_lock_file_that_nobody_holds_is_no_bot_of_this_name(names: tuple[Path, Path]) -> None:
    """A bot of before left it there, or another command only looks whether it is held."""
    one_file = OneFile(names[0])
    one_file.take()
    left = path_of_lock(names[1])
    left.touch()

    with left.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        with pytest.raises(CannotOpen, match=WORDS):
            refuse_other_name(names[1])

    one_file.release()


def test_a_lock_file_that_this_account_may_not_read_refuses_nothing(
    names: tuple[Path, Path],
) -> None:
    """An account of the same group could no longer freeze the bot."""
    one_file = OneFile(names[0])
    one_file.take()
    unread = path_of_lock(names[1])
    unread.symlink_to(unread)

    refuse_other_name(names[1])

    one_file.release()


@pytest.mark.parametrize("name", ["signoff.db", "."])
def test_what_is_no_file_is_held_by_nobody(tmp_path: Path, name: str) -> None:
    refuse_other_name(tmp_path / name)
    OneFile(tmp_path / name).take()


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_that_knows_no_such_lock_keeps_no_bot_from_starting(
    names: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def knows_none(*_given: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "fcntl", knows_none)

    OneFile(names[0]).take()
    refuse_other_name(names[1])


@pytest.mark.parametrize("kept", [False, True])
async def test_a_store_holds_its_file_from_the_first_start_until_it_is_closed(
    tmp_path: Path, kept: bool
) -> None:
    if kept:
        await (await open_store("sqlite:///first.db", tmp_path)).close()
    store = await open_store("sqlite:///first.db", tmp_path)
    (tmp_path / "second.db").hardlink_to(tmp_path / "first.db")

    with pytest.raises(CannotOpen, match=WORDS):
        await open_store("sqlite:///second.db", tmp_path)

    await store.close()
    await (await open_store("sqlite:///second.db", tmp_path)).close()


async def test_of_two_that_start_at_once_the_one_that_is_refused_has_written_nothing(
    tmp_path: Path,
) -> None:
    """It left a log beside its name; the next start under that name wrote old pages over newer
    ones, and the database was damaged."""
    await (await open_store("sqlite:///first.db", tmp_path)).close()
    (tmp_path / "second.db").hardlink_to(tmp_path / "first.db")

    opening = (open_store(f"sqlite:///{name}.db", tmp_path) for name in ("first", "second"))
    found = await asyncio.gather(*opening, return_exceptions=True)

    stores = [each for each in found if not isinstance(each, BaseException)]
    assert len(stores) == 1
    assert len(list(tmp_path.glob("*-wal"))) == 1
    await stores[0].close()


async def test_what_a_bot_has_under_another_name_is_neither_read_nor_copied_nor_replaced(
    tmp_path: Path,
) -> None:
    """Its newest commits stand beside that name: a trail and a copy without them passed for whole,
    and a restore was told as done while the bot went on with the former database."""
    first, second, copy = (tmp_path / f"{name}.db" for name in ("first", "second", "copy"))
    await (await filled(first, "old")).close()
    back_up(first, copy)
    store = await filled(first, "new")
    second.hardlink_to(first)

    with pytest.raises(CannotOpen, match=WORDS):
        await open_reader("sqlite:///second.db", tmp_path)
    with pytest.raises(CannotOpen, match=WORDS):
        back_up(second, tmp_path / "another.db")
    with pytest.raises(CannotOpen, match=WORDS):
        bring_back(copy, second)

    assert second.samefile(first)
    assert await held(first) == ["new", "old"]
    await store.close()
