"""A restore that was cut off leaves nothing behind that the next one reads or forgets."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.copies import back_up, bring_back
from bot.storage.sqlite import SqliteStore
from tests.builders import a_document, a_proposal
from tests.by_hand import by_hand


async def a_copy(folder: Path, *names: str) -> Path:
    """Return a copy of a database with these proposals."""
    store = await SqliteStore.open(folder / "signoff.db")
    for name in names:
        await store.write(
            lambda tx, n=name: tx.proposals.add(a_proposal(a_document(proposal_id=n)))
        )
    await store.close()
    back_up(folder / "signoff.db", folder / "copy.db")
    return folder / "copy.db"


def left_by_a_dead_process(fresh: Path, beside: Path) -> None:
    """Write into a copy as its preparation does, and keep what a death then leaves beside it."""
    with closing(sqlite3.connect(fresh, isolation_level=None)) as plain:
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("PRAGMA wal_autocheckpoint = 0")
        plain.execute("UPDATE proposals SET version = 9")
        for side in ("", "-wal", "-shm"):
            shutil.copy(f"{fresh}{side}", f"{beside}{side}")


def left_by_a_death_in_the_first_write(fresh: Path, beside: Path) -> None:
    """Begin to write into a copy, and keep what a death in the middle leaves beside it."""
    with closing(sqlite3.connect(fresh, isolation_level=None)) as plain:
        plain.execute("PRAGMA cache_size = 1")
        plain.execute("BEGIN IMMEDIATE")
        for number in range(100):
            plain.execute("INSERT INTO flags VALUES (?, zeroblob(9000))", (f"f{number}",))
        for side in ("", "-journal"):
            shutil.copy(f"{fresh}{side}", f"{beside}{side}")


def emptied(file: Path) -> Path:
    """Take a database away, but not what stands beside it."""
    file.unlink()
    return file


async def test_what_a_restore_that_was_cut_off_wrote_is_not_read_into_the_next_one(
    tmp_path: Path,
) -> None:
    large = await a_copy(tmp_path / "large", *(f"x{number}" for number in range(30)))
    small = await a_copy(tmp_path / "small", "p1", "p2")
    database = tmp_path / "data" / "signoff.db"
    database.parent.mkdir()
    left_by_a_dead_process(large, database.with_name("signoff.db.restored"))
    seen: list[object] = []

    bring_back(
        small,
        database,
        prepare=lambda fresh: seen.extend(by_hand(fresh, "SELECT version FROM proposals")),
    )

    assert seen == [(1,), (1,)]
    assert by_hand(database, "PRAGMA integrity_check") == [("ok",)]
    assert by_hand(database, "SELECT proposal_id FROM proposals ORDER BY 1") == [("p1",), ("p2",)]
    assert sorted(file.name for file in database.parent.iterdir()) == [
        "signoff.db",
        "signoff.db.lock",
    ]


async def test_a_restore_that_died_in_its_first_write_spoils_not_the_next_one(
    tmp_path: Path,
) -> None:
    """The pages that it was about to change were written over those of the next copy."""
    small = await a_copy(tmp_path / "small", "p1", "p2")
    names = sorted(f"x{number}" for number in range(30))
    large = await a_copy(tmp_path / "large", *names)
    database = tmp_path / "data" / "signoff.db"
    database.parent.mkdir()
    left_by_a_death_in_the_first_write(small, database.with_name("signoff.db.restored"))

    bring_back(large, database, prepare=lambda fresh: by_hand(fresh, "UPDATE flags SET name = 'x'"))

    assert by_hand(database, "PRAGMA integrity_check") == [("ok",)]
    assert [name for (name,) in by_hand(database, "SELECT proposal_id FROM proposals")] == names


@pytest.mark.parametrize(
    "left", [left_by_a_dead_process, left_by_a_death_in_the_first_write], ids=["wal", "journal"]
)
async def test_no_copy_is_made_beside_what_another_file_of_its_name_left(
    tmp_path: Path, left: Callable[[Path, Path], None]
) -> None:
    """SQLite read it into the copy as soon as somebody opened that, and then it was none."""
    copy = await a_copy(tmp_path / "small", "p1", "p2")
    kept = tmp_path / "kept.db"
    left(copy, kept)

    with pytest.raises(CannotOpen, match=r"kept\.db-(wal|journal) is of another kept\.db"):
        back_up(tmp_path / "small" / "signoff.db", emptied(kept))

    assert not kept.exists()


def dies(_done: int) -> None:
    """End as a process does that is ended in the middle: nothing is put in order."""
    raise KeyboardInterrupt


async def test_no_bot_begins_empty_while_a_restore_was_cut_off_in_its_copying(
    tmp_path: Path,
) -> None:
    """On a new machine, where a large copy takes minutes, a service then began without a past."""
    copy = await a_copy(tmp_path / "small", "p1")
    database = tmp_path / "data" / "signoff.db"
    database.parent.mkdir()

    with pytest.raises(KeyboardInterrupt):
        bring_back(copy, database, dies)

    with pytest.raises(CannotOpen, match="a restore that did not come to its end"):
        await SqliteStore.open(database)
    bring_back(copy, database)
    assert by_hand(database, "SELECT proposal_id FROM proposals") == [("p1",)]


def test_a_restore_that_was_refused_is_none_that_was_cut_off(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"x" * 9_000)
    database = tmp_path / "data" / "signoff.db"
    database.parent.mkdir()

    with pytest.raises(CannotOpen, match="not a database"):
        bring_back(tmp_path / "junk", database)

    assert [file.name for file in database.parent.iterdir()] == ["signoff.db.lock"]


async def test_a_copy_that_is_none_lets_nobody_forget_the_restore_that_was_cut_off(
    tmp_path: Path,
) -> None:
    copy = await a_copy(tmp_path / "small", "p1")
    database = tmp_path / "data" / "signoff.db"
    database.parent.mkdir()
    shutil.copy(copy, database.with_name("signoff.db.restored"))
    (tmp_path / "junk").write_bytes(b"x" * 9_000)

    with pytest.raises(CannotOpen, match="not a database"):
        bring_back(tmp_path / "junk", database)

    with pytest.raises(CannotOpen, match="a restore that did not come to its end"):
        await SqliteStore.open(database)
    bring_back(copy, database)
    assert by_hand(database, "SELECT proposal_id FROM proposals") == [("p1",)]
