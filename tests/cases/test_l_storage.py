"""Cases of kind L: storage. L05 and L08 stand where the process and the law are tested."""

# ruff: noqa: ASYNC240 - nobody else waits for the loop of a test

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.storage import CannotOpen, connection
from bot.storage.copies import back_up, bring_back
from bot.storage.mounted import refuse_single_file
from bot.storage.sqlite import SqliteStore
from lifecycle.audit import AuditEvent, broken_links
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.review import Decision, Review
from lifecycle.state import State
from tests.builders import NOW_MS, a_document, a_proposal


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "signoff.db")
    yield opened
    await opened.close()


def named(name: str) -> Proposal:
    return a_proposal(a_document(proposal_id=name))


def submit(tx: Transaction, name: str) -> None:
    tx.proposals.add(named(name))
    tx.audit.append(AuditEvent("2026-03-02T12:00:00.000Z", "submitted", proposal_id=name))


def decide(tx: Transaction, name: str, person: str) -> bool:
    """Count a ✅; return whether this one moved the proposal."""
    seen = tx.proposals.get(name)
    assert seen is not None
    tx.reviews.add(Review(name, person, Decision.APPROVE, "", NOW_MS, "terminal"))
    if seen.state is not State.PENDING:
        return False
    moved = replace(seen, state=State.SENTINEL_APPROVED, version=seen.version + 1)
    tx.audit.append(AuditEvent("2026-03-02T12:00:00.000Z", "moved", proposal_id=name))
    return tx.proposals.save(moved, seen)


async def test_L01_concurrent_submissions_and_decisions_all_succeed(store: SqliteStore) -> None:
    await store.write(lambda tx: submit(tx, "decided"))
    people = ("ana", "ben", "cal", "dee", "olga")

    moved, _ = await asyncio.gather(
        asyncio.gather(*(store.write(lambda tx, p=p: decide(tx, "decided", p)) for p in people)),
        asyncio.gather(*(store.write(lambda tx, n=n: submit(tx, f"p{n}")) for n in range(20))),
    )

    def counted(tx: Transaction) -> tuple[int, int, int]:
        reviews = [review.person for review in tx.reviews.of("decided")]
        return tx.proposals.count_waiting(), len(set(reviews)), tx.audit.head()[0]

    assert await store.read(counted) == (21, 5, 22)
    assert sorted(moved) == [False] * 4 + [True]
    assert broken_links(await store.read(lambda tx: tx.audit.exported(0, 99))) == []


@pytest.mark.parametrize(
    ("a_fails", "b_fails"), [(True, False), (False, True)], ids=["a rolls back", "b rolls back"]
)
async def test_L02_nobody_commits_or_undoes_the_work_of_another(
    store: SqliteStore, a_fails: bool, b_fails: bool
) -> None:
    def unit(name: str, fails: bool) -> object:
        def run(tx: Transaction) -> None:
            submit(tx, name)
            tx.proposals.count_waiting()  # by now it is in the transaction that both share
            if fails:
                raise RuntimeError(name)

        return run

    begun, go_on = threading.Event(), threading.Event()

    def busy(_tx: Transaction) -> None:
        begun.set()
        go_on.wait(5)

    first = asyncio.create_task(store.write(busy))
    await asyncio.to_thread(begun.wait, 5)
    both = asyncio.gather(
        store.write(unit("a", a_fails)), store.write(unit("b", b_fails)), return_exceptions=True
    )
    await asyncio.sleep(0)  # both wait now, so that they are committed together
    go_on.set()
    await asyncio.gather(first, both)

    there = await store.read(lambda tx: tx.proposals.beginning_with("", 9))
    told = await store.read(lambda tx: tx.audit.exported(0, 9))
    expected = [name for name, fails in (("a", a_fails), ("b", b_fails)) if not fails]
    assert there == expected
    assert [entry["proposal_id"] for entry in told] == expected
    assert broken_links(told) == []


async def test_L04_a_decision_cancelled_after_its_update_is_undone_and_locks_nobody(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.write(lambda tx: submit(tx, "p1"))
    updated, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        decide(tx, "p1", "ana")
        updated.set()
        go_on.wait(5)

    deciding = asyncio.create_task(store.write(slow))
    await asyncio.to_thread(updated.wait, 5)
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    go_on.set()

    another = await SqliteStore.open(tmp_path / "signoff.db", beside=True)
    await asyncio.wait_for(another.write(lambda tx: submit(tx, "p2")), 1)
    await another.close()

    assert await store.read(lambda tx: tx.proposals.get("p1")) == named("p1")
    assert await store.read(lambda tx: tx.reviews.of("p1")) == []
    assert await store.read(lambda tx: tx.proposals.get("p2")) == named("p2")
    assert broken_links(await store.read(lambda tx: tx.audit.exported(0, 9))) == []


async def test_L06_a_backup_taken_while_open_holds_all_and_is_sound(
    store: SqliteStore, tmp_path: Path
) -> None:
    for number in range(10):
        await store.write(lambda tx, n=number: submit(tx, f"p{n}"))
    unfinished = asyncio.create_task(store.read(lambda tx: tx.proposals.count_waiting()))

    back_up(tmp_path / "signoff.db", tmp_path / "copy.db")
    bring_back(tmp_path / "copy.db", tmp_path / "elsewhere" / "signoff.db")

    restored = await SqliteStore.open(tmp_path / "elsewhere" / "signoff.db")
    assert await restored.read(lambda tx: tx.proposals.count_waiting()) == await unfinished == 10
    assert broken_links(await restored.read(lambda tx: tx.audit.exported(0, 99))) == []
    await restored.close()
    with closing(sqlite3.connect(tmp_path / "elsewhere" / "signoff.db")) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


async def test_L07_the_mode_in_force_is_wal(tmp_path: Path, store: SqliteStore) -> None:
    await store.write(lambda tx: submit(tx, "p1"))

    with closing(sqlite3.connect(tmp_path / "signoff.db")) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert (tmp_path / "signoff.db-wal").stat().st_size > 0


@pytest.mark.parametrize("side", ["-wal", "-shm", ".lock"])
async def test_L07_where_a_side_file_cannot_be_made_the_bot_does_not_start(
    tmp_path: Path, side: str
) -> None:
    (tmp_path / f"signoff.db{side}").mkdir()

    with pytest.raises(CannotOpen, match=r"signoff\.db"):
        await SqliteStore.open(tmp_path / "signoff.db")


#: As Linux tells of what is mounted: its number, in which other mount it is, and where.
MOUNTED = "{number} {within} 254:0 /host/x {place} rw,relatime shared:1 - ext4 /dev/vda rw\n"


def mounted(*mounts: tuple[int, int, Path]) -> str:
    """Return the table of such mounts."""
    places = [(number, within, str(at).replace(" ", "\\040")) for number, within, at in mounts]
    return "".join(MOUNTED.format(number=n, within=w, place=at) for n, w, at in places)


@pytest.mark.parametrize("name", ["signoff.db", "sign off.db"])
async def test_L07_a_database_mounted_as_a_single_file_is_refused_and_its_folder_is_not(
    tmp_path: Path, name: str
) -> None:
    mounts, file = tmp_path / "mountinfo", tmp_path / name
    (tmp_path / "link.db").symlink_to(file)
    folders = (27, 1, Path("/")), (42, 27, tmp_path)
    mounts.write_text(mounted(*folders))
    for path in (file, tmp_path / "link.db"):
        refuse_single_file(path, mounts)
    mounts.write_text(mounted(*folders, (43, 42, file)))

    for path in (file, tmp_path / "link.db"):
        with pytest.raises(CannotOpen, match="mounted as a single file"):
            refuse_single_file(path, mounts)


@pytest.mark.parametrize("within", [27, 42], ids=["beside it", "over its folder's mount"])
async def test_L07_a_single_file_that_is_hidden_by_a_folder_mounted_later_is_none(
    tmp_path: Path, within: int
) -> None:
    mounts, file = tmp_path / "mountinfo", tmp_path / "signoff.db"
    below = [(42, 27, tmp_path)] if within == 42 else []
    table = [(27, 1, Path("/")), *below, (43, within, file), (44, within, tmp_path)]
    mounts.write_text(mounted(*table))

    refuse_single_file(file, mounts)

    mounts.write_text(mounted(*table, (45, 44, file)))
    with pytest.raises(CannotOpen, match="mounted as a single file"):
        refuse_single_file(file, mounts)


async def test_L07_a_folder_that_takes_no_files_stops_the_start() -> None:
    folder = Path("/proc") if Path("/proc/self").exists() else Path("/dev/null")

    with pytest.raises(CannotOpen, match=r"signoff\.db"):
        await SqliteStore.open(folder / "signoff.db")


async def test_L07_memory_of_sqlite_itself_is_refused_as_it_keeps_nothing(tmp_path: Path) -> None:
    # A mode other than WAL: what SQLite answers where WAL is impossible.
    plain = sqlite3.connect(":memory:", isolation_level=None)
    with closing(plain), pytest.raises(CannotOpen, match="memory mode"):
        connection._set_up(plain, tmp_path / "signoff.db", writing=True)
