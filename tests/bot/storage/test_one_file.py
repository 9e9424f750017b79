"""The database file itself is held while a store is open for writing, whatever its name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.storage import CannotOpen, open_store
from bot.storage.one_file import OneFile, refuse_other_name

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

    held = OneFile(names[1])
    held.take()
    held.release()


def test_what_is_not_there_is_held_by_nobody(tmp_path: Path) -> None:
    refuse_other_name(tmp_path / "signoff.db")


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
