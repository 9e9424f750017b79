"""A restore that was cut off leaves nothing behind that the next one reads or forgets."""

from __future__ import annotations

import shutil
import sqlite3
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
