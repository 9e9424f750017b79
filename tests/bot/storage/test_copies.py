"""A copy is whole or it is not there; what is brought back replaces nothing without a trace."""

# ruff: noqa: ASYNC240 - nobody else waits for the loop of a test

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.copies import back_up, bring_back
from bot.storage.lock import AlreadyRunning
from bot.storage.sqlite import SqliteStore
from tests.bot.storage.copied import filled, held


async def test_a_copy_is_one_file_with_what_a_running_bot_committed(copy: Path) -> None:
    assert sorted(file.name for file in copy.parent.iterdir()) == ["copy.db", "old"]
    assert await held(copy) == ["p1", "p2"]


async def test_progress_is_told_up_to_the_last_page(tmp_path: Path) -> None:
    store = await filled(tmp_path / "signoff.db", "p1")
    told: list[int] = []

    back_up(tmp_path / "signoff.db", tmp_path / "copy.db", told.append)
    await store.close()

    with closing(sqlite3.connect(tmp_path / "copy.db")) as plain:
        assert told[-1] == plain.execute("PRAGMA page_count").fetchone()[0]


async def test_a_copy_overwrites_nothing(copy: Path, tmp_path: Path) -> None:
    before = copy.read_bytes()

    with pytest.raises(CannotOpen, match="exists already"):
        back_up(tmp_path / "old" / "signoff.db", copy)

    assert copy.read_bytes() == before


async def test_two_copies_of_one_name_are_not_made_at_once(tmp_path: Path) -> None:
    """The first was called whole, and was the beginning of the second."""
    database, copy = tmp_path / "signoff.db", tmp_path / "copy.db"
    await (await filled(database, "p1")).close()
    refused: list[str] = []

    def beside(_done: int) -> None:
        with pytest.raises(CannotOpen, match="just making") as error:
            back_up(database, copy)
        refused.append(str(error.value))

    back_up(database, copy, beside)

    assert len(refused) == 1
    assert await held(copy) == ["p1"]
    assert {each.name for each in tmp_path.glob("copy*")} == {"copy.db"}


async def test_what_a_killed_copy_left_is_in_the_way_of_no_other(tmp_path: Path) -> None:
    database, copy = tmp_path / "signoff.db", tmp_path / "copy.db"
    await (await filled(database, "p1")).close()
    for left in ("copy.db.part", "copy.db.part.lock"):
        (tmp_path / left).write_bytes(b"1234567")

    back_up(database, copy)

    assert await held(copy) == ["p1"]
    assert {each.name for each in tmp_path.glob("copy*")} == {"copy.db"}


async def test_what_is_not_there_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen, match="no database"):
        back_up(tmp_path / "none.db", tmp_path / "copy.db")
    with pytest.raises(CannotOpen, match="no file"):
        bring_back(tmp_path / "none.db", tmp_path / "signoff.db")

    assert list(tmp_path.iterdir()) == []


async def test_a_copy_into_a_folder_that_is_not_there_says_so(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotOpen, match=r"There is no folder .*/away\. Make it"):
        back_up(copy, tmp_path / "away" / "copy.db")
    assert not (tmp_path / "away").exists()


async def test_a_copy_is_brought_back_where_nothing_was(copy: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "signoff.db"

    assert bring_back(copy, target) is None

    assert await held(target) == ["p1", "p2"]
    assert copy.exists()


async def test_the_database_that_was_there_is_kept_with_its_side_files(
    copy: Path, tmp_path: Path
) -> None:
    target = tmp_path / "signoff.db"
    store = await filled(target, "p3")
    await store.close()
    # What a killed process leaves: rows that stand in the side file alone.
    with closing(sqlite3.connect(target, isolation_level=None)) as plain:
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("UPDATE proposals SET explanation = 'late'")
        for side in ("", "-wal"):
            data = target.with_name(target.name + side).read_bytes()
            (tmp_path / f"killed{side}").write_bytes(data)
    for side in ("", "-wal"):
        (tmp_path / f"killed{side}").replace(target.with_name(target.name + side))

    kept = bring_back(copy, target)

    assert kept is not None
    assert await held(target) == ["p1", "p2"]
    assert await held(kept) == ["p3"]
    with closing(sqlite3.connect(kept)) as plain:
        assert plain.execute("SELECT explanation FROM proposals").fetchone()[0] == "late"
    assert bring_back(copy, target) != kept


@pytest.mark.parametrize("name", ["itself", "a link", "another name"])
async def test_a_database_is_no_copy_of_itself(tmp_path: Path, name: str) -> None:
    """It was frozen, its approvals void, and nothing was brought back."""
    database = tmp_path / "signoff.db"
    await (await filled(database, "p1")).close()
    file = {"itself": database}.get(name, tmp_path / "other.db")
    if name == "a link":
        file.symlink_to(database)
    if name == "another name":
        file.hardlink_to(database)
    before = {each.name for each in tmp_path.iterdir()}

    with pytest.raises(CannotOpen, match="is the database itself"):
        bring_back(file, database)

    assert {each.name for each in tmp_path.iterdir()} == before
    assert await held(database) == ["p1"]


async def test_nothing_is_brought_back_under_a_running_bot(copy: Path, tmp_path: Path) -> None:
    store = await filled(tmp_path / "signoff.db", "p3")

    with pytest.raises(AlreadyRunning):
        bring_back(copy, tmp_path / "signoff.db")

    assert list(await store.read(lambda tx: tx.proposals.beginning_with("", 9))) == ["p3"]
    await store.close()


def damaged(data: bytes) -> bytes:
    return data[:8192] + bytes(4096) * 3 + data[8192 + 3 * 4096 :]


@pytest.mark.parametrize(
    "spoil",
    [damaged, lambda data: data[: len(data) // 2], lambda data: b"no database" * 999],
    ids=["overwritten", "cut", "something else"],
)
async def test_a_damaged_copy_changes_nothing(copy: Path, tmp_path: Path, spoil: object) -> None:
    copy.write_bytes(spoil(copy.read_bytes()))  # type: ignore[operator]
    target = tmp_path / "signoff.db"
    await (await filled(target, "p3")).close()
    before = sorted(file.name for file in tmp_path.iterdir())

    with pytest.raises(CannotOpen):
        bring_back(copy, target)

    assert sorted(file.name for file in tmp_path.iterdir()) == before
    assert await held(target) == ["p3"]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("INSERT INTO migrations VALUES (999, 'future')", "newer Signoff"),
        ("DROP TABLE migrations", "another program"),
    ],
)
async def test_only_what_this_program_knows_is_brought_back(
    copy: Path, tmp_path: Path, sql: str, words: str
) -> None:
    with closing(sqlite3.connect(copy, isolation_level=None)) as plain:
        plain.execute(sql)

    with pytest.raises(CannotOpen, match=words):
        bring_back(copy, tmp_path / "signoff.db")

    assert not (tmp_path / "signoff.db").exists()


async def test_at_every_moment_of_a_restore_there_is_a_database(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "signoff.db"
    await (await filled(database, "p8", "p9")).close()

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as death:
        death.setattr(Path, "replace", only_from(".restored", dies))
        with pytest.raises(KeyboardInterrupt):
            bring_back(copy, database)

    assert await held(database) == ["p8", "p9"]


async def test_a_bot_that_goes_on_writing_does_not_make_a_copy_begin_anew(tmp_path: Path) -> None:
    """Else the copy of a large database never comes to its end."""
    database = tmp_path / "signoff.db"
    store = await filled(database, "p1")
    with closing(sqlite3.connect(database, isolation_level=None)) as bot:
        bot.execute("CREATE TABLE years (x)")
        bot.execute("INSERT INTO years VALUES (zeroblob(20000000))")
        told: list[int] = []

        def wrote(done: int) -> None:
            assert done > max(told, default=0), "it began anew"
            told.append(done)
            bot.execute("INSERT INTO flags VALUES (?, '0')", (f"later {done}",))

        back_up(database, tmp_path / "copy.db", wrote)
    await store.close()

    with closing(sqlite3.connect(tmp_path / "copy.db")) as plain:
        assert len(told) > 3
        assert plain.execute("SELECT * FROM flags WHERE name LIKE 'later%'").fetchall() == []
        assert told[-1] == plain.execute("PRAGMA page_count").fetchone()[0]


def only_from(suffix: str, instead: Callable[..., None]) -> Callable[..., object]:
    real = Path.replace

    def replace(path: Path, target: Path) -> object:
        return instead() if path.name.endswith(suffix) else real(path, target)

    return replace


async def test_a_restore_that_was_cut_off_before_the_end_is_no_empty_start(
    copy: Path, tmp_path: Path
) -> None:
    copy.rename(tmp_path / "signoff.db.restored")

    with pytest.raises(CannotOpen, match="restore"):
        await SqliteStore.open(tmp_path / "signoff.db")


async def test_a_link_to_a_database_is_the_same_database(tmp_path: Path) -> None:
    store = await filled(tmp_path / "signoff.db", "p1")
    (tmp_path / "other.db").symlink_to(tmp_path / "signoff.db")

    with pytest.raises(AlreadyRunning):
        await SqliteStore.open(tmp_path / "other.db")
    await store.close()
