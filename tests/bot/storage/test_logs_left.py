"""The log of a bot that died is neither applied to another file nor deleted with an empty one."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.connection import open_plain
from bot.storage.copies import back_up, bring_back
from bot.storage.sqlite import SqliteStore
from tests.builders import a_document, a_proposal


async def adds(store: SqliteStore, name: str) -> None:
    await store.write(lambda tx: tx.proposals.add(a_proposal(a_document(proposal_id=name))))


@pytest.fixture
async def died(tmp_path: Path) -> Path:
    """A folder with the database of a bot that was killed, and an older copy of it."""
    living, dead = tmp_path / "living", tmp_path / "dead"
    living.mkdir()
    dead.mkdir()
    store = await SqliteStore.open(living / "signoff.db")
    await adds(store, "p1")
    back_up(living / "signoff.db", dead / "copy.db")
    await adds(store, "p2")
    for side in ("", "-wal"):
        shutil.copy(living / f"signoff.db{side}", dead)
    await store.close()
    return dead / "signoff.db"


def moved(file: Path, name: str) -> Path:
    return file.rename(file.with_name(name))


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def names(database: Path) -> list[str]:
    with closing(open_plain(database, writing=False)) as plain:
        return [row[0] for row in plain.execute("SELECT proposal_id FROM proposals ORDER BY 1")]


async def test_a_copy_that_is_put_beside_the_log_of_another_database_is_refused_and_stays_whole(
    died: Path,
) -> None:
    """The bot started on a mixture of the two, and did again what the copy did not know."""
    shutil.copy(died.with_name("copy.db"), died)
    with pytest.raises(CannotOpen, match=r"Move signoff\.db away.*: signoff restore FILE"):
        await SqliteStore.open(died)

    away = moved(died, "away.db")
    assert bring_back(away, died) is None
    assert names(died) == ["p1"]


async def test_a_copy_beside_the_log_of_another_database_is_neither_read_nor_copied_as_a_mixture(
    died: Path,
) -> None:
    """A backup of the two was one file that passed for sound, and that a bot started on."""
    shutil.copy(died.with_name("copy.db"), died)
    refused = pytest.raises(CannotOpen, match=r"Move signoff\.db away.*: signoff restore FILE")
    with refused:
        await SqliteStore.open_reader(died)
    with refused:
        back_up(died, died.with_name("later.db"))
    with refused:
        bring_back(died, died.with_name("other.db"))

    assert not died.with_name("later.db").exists()
    assert not died.with_name("other.db").exists()


async def test_a_database_is_read_although_its_bot_ends_and_deletes_its_log_meanwhile(
    died: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ended with an error that nobody knows."""
    ended, usual = died.with_name("ended.db"), Path.stat
    store = await SqliteStore.open(ended)
    await adds(store, "p1")
    await store.close()
    shutil.copy(died.with_name("signoff.db-wal"), died.with_name("ended.db-wal"))

    def deleted_behind_it(file: Path, **how: bool) -> os.stat_result:
        found = usual(file, **how)
        if file.name == "ended.db-wal":
            file.unlink()
        return found

    monkeypatch.setattr(Path, "stat", deleted_behind_it)
    await (await SqliteStore.open_reader(ended)).close()
    assert names(ended) == ["p1"]


async def test_what_a_restore_replaces_is_not_mixed_with_the_log_of_another_database(
    died: Path,
) -> None:
    copy, log = died.with_name("copy.db"), died.with_name("signoff.db-wal").read_bytes()
    shutil.copy(copy, died)
    kept = bring_back(copy, died)

    assert names(died) == ["p1"]
    assert kept is not None
    assert kept.read_bytes() == copy.read_bytes()
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == log


async def test_newest_commits_without_their_database_are_not_deleted_by_a_start(
    died: Path,
) -> None:
    away = moved(died, "away.db")
    with pytest.raises(CannotOpen, match="Put back the very file that was there"):
        await SqliteStore.open(died)

    moved(away, died.name)
    store = await SqliteStore.open(died)
    await store.close()
    assert names(died) == ["p1", "p2"]


async def test_newest_commits_beside_an_emptied_database_are_not_deleted_by_a_start(
    died: Path,
) -> None:
    """A start took the empty file for a new one, with a warning in the log alone."""
    away = moved(died, "away.db")
    emptied(died)
    with pytest.raises(CannotOpen, match=r"empty file beside signoff\.db-wal.*Put back the very"):
        await SqliteStore.open(died)

    shutil.copy(away, died)
    store = await SqliteStore.open(died)
    await store.close()
    assert names(died) == ["p1", "p2"]


async def test_newest_commits_beside_an_emptied_database_are_not_deleted_by_a_look(
    died: Path,
) -> None:
    """SQLite deletes them also for a reader: `status` did, which people type first."""
    away = moved(died, "away.db")
    emptied(died)
    with pytest.raises(CannotOpen, match=r"empty file beside signoff\.db-wal.*Put back the very"):
        open_plain(died, writing=False)
    with pytest.raises(CannotOpen, match="Where a bot runs with it, stop that first with SIGTERM"):
        back_up(died, died.with_name("later.db"))

    shutil.copy(away, died)
    assert names(died) == ["p1", "p2"]


async def test_a_bot_whose_database_was_emptied_writes_at_its_end_what_it_holds_also_after_a_look(
    tmp_path: Path,
) -> None:
    database = tmp_path / "signoff.db"
    store = await SqliteStore.open(database)
    await adds(store, "p1")
    emptied(database)
    with pytest.raises(CannotOpen, match="stop that first with SIGTERM"):
        open_plain(database, writing=False)

    await store.close()
    assert names(database) == ["p1"]


async def test_a_copy_comes_back_over_an_emptied_database_beside_newest_commits(
    died: Path,
) -> None:
    away = died.with_name("away.db")
    shutil.copy(died, away)
    emptied(died)
    kept = bring_back(died.with_name("copy.db"), died)
    assert names(died) == ["p1"]

    assert kept is not None
    shutil.copy(away, kept)  # what was the database is found, and its newest commits are beside it
    assert names(kept) == ["p1", "p2"]


async def test_newest_commits_without_their_database_do_not_mix_with_a_copy_that_is_restored(
    died: Path,
) -> None:
    moved(died, "away.db")
    bring_back(died.with_name("copy.db"), died)
    assert names(died) == ["p1"]


async def test_whoever_begins_empty_moves_the_log_away(died: Path) -> None:
    moved(died, "away.db")
    moved(died.with_name("signoff.db-wal"), "log")
    store = await SqliteStore.open(died)
    await store.close()
    assert names(died) == []


async def test_what_was_there_before_its_bot_died_opens_as_ever(died: Path) -> None:
    store = await SqliteStore.open(died)
    await store.close()
    assert names(died) == ["p1", "p2"]


async def test_the_log_of_another_database_is_found_behind_a_link_too(
    died: Path, tmp_path: Path
) -> None:
    """SQLite keeps the log beside the file, and not beside its link."""
    link = tmp_path / "link.db"
    link.symlink_to(died)
    shutil.copy(died.with_name("copy.db"), died)

    with pytest.raises(CannotOpen, match="signoff restore FILE"):
        await SqliteStore.open(link)


async def test_a_log_that_holds_no_commit_keeps_nobody_from_beginning(died: Path) -> None:
    log = died.with_name("signoff.db-wal")
    log.write_bytes(log.read_bytes()[:32])
    emptied(died)

    store = await SqliteStore.open(died)
    await store.close()
    assert names(died) == []
