"""The one writer: together, but each alone; and what SQLite's own failures do to it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage.connection import ConnectionClosed, connect
from bot.storage.sqlite import SqliteStore
from bot.storage.writer import MOST_IN_A_COMMIT
from lifecycle.audit import broken_links
from lifecycle.ports import RowRefused, StoreUnavailable, Transaction
from tests.builders import a_document, a_proposal
from tests.by_hand import by_hand
from tests.contracts.store_examples import event


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def adding(name: str) -> Callable[[Transaction], None]:
    def unit(tx: Transaction) -> None:
        tx.audit.append(event(proposal_id=name))
        tx.proposals.add(a_proposal(a_document(proposal_id=name)))

    return unit


async def stored(store: SqliteStore) -> list[str]:
    return list(await store.read(lambda tx: tx.proposals.beginning_with("", 999)))


async def chain_holds(store: SqliteStore) -> bool:
    return broken_links(await store.read(lambda tx: tx.audit.exported(0, 999))) == []


FAILS = "CREATE TRIGGER fails BEFORE INSERT ON proposals WHEN new.proposal_id = 'bad' BEGIN {} END"


async def test_a_function_runs_whole_on_the_connections_thread(path: Path) -> None:
    connection = await connect(path, writing=True)
    here = threading.get_ident()

    threads = [await connection.run(lambda plain: threading.get_ident()) for _ in range(2)]

    assert threads[0] == threads[1] != here
    await connection.close()
    with pytest.raises(ConnectionClosed):
        await connection.run(lambda plain: None)


async def test_what_waits_is_committed_together(store: SqliteStore) -> None:
    begun: list[str] = []
    at_work, done = threading.Event(), threading.Event()

    def holds_up(tx: Transaction) -> None:
        at_work.set()
        done.wait(20)
        tx.audit.connection.set_trace_callback(begun.append)

    waiting = [asyncio.create_task(store.write(holds_up))]
    await asyncio.to_thread(at_work.wait, 20)
    for number in range(MOST_IN_A_COMMIT + 6):
        waiting.append(asyncio.create_task(store.write(adding(f"p{number}"))))
    await asyncio.sleep(0)
    done.set()
    await asyncio.gather(*waiting)

    assert begun.count("BEGIN IMMEDIATE") == 2
    assert begun.count("SAVEPOINT unit") == MOST_IN_A_COMMIT + 6
    assert begun.count("COMMIT") == 3


async def test_nobody_hears_of_a_unit_before_it_is_durable(store: SqliteStore, path: Path) -> None:
    def others_see() -> list[str]:
        with closing(sqlite3.connect(path)) as plain:
            return [row[0] for row in plain.execute("SELECT proposal_id FROM proposals")]

    await store.write(adding("p1"))

    assert others_see() == ["p1"]


async def test_a_failing_trigger_fails_its_unit_alone(store: SqliteStore, path: Path) -> None:
    by_hand(path, FAILS.format("SELECT RAISE(ABORT, 'the disk is full');"))

    outcomes = await asyncio.gather(
        *(store.write(adding(name)) for name in ("p1", "bad", "p2")), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [type(None), RowRefused, type(None)]
    assert "the disk is full" in str(outcomes[1])
    assert await stored(store) == ["p1", "p2"]
    assert await chain_holds(store)


async def test_a_unit_with_which_sqlite_undid_everything_leaves_nothing_half(
    store: SqliteStore, path: Path
) -> None:
    by_hand(path, FAILS.format("SELECT RAISE(ROLLBACK, 'gone');"))

    outcomes = await asyncio.gather(
        *(store.write(adding(name)) for name in ("p1", "bad", "p2")), return_exceptions=True
    )

    done = [name for name, o in zip(("p1", "bad", "p2"), outcomes, strict=True) if o is None]
    assert [type(o) for o in outcomes] == [RowRefused, RowRefused, type(None)]
    assert await stored(store) == done == ["p2"]
    assert await chain_holds(store)


async def test_a_full_disk_is_an_unavailable_store_until_there_is_room(
    store: SqliteStore,
) -> None:
    def pages(tx: Transaction, sql: str) -> int:
        return int(tx.audit.connection.execute(sql).fetchone()[0])

    await store.write(lambda tx: pages(tx, "PRAGMA max_page_count = 1"))
    big = a_proposal(extra={"text": "x" * 200_000})
    with pytest.raises(StoreUnavailable, match="full"):
        await store.write(lambda tx: tx.proposals.add(big))
    assert await stored(store) == []

    await store.write(lambda tx: pages(tx, "PRAGMA max_page_count = 100000"))
    await store.write(adding("p1"))

    assert await stored(store) == ["p1"]
    assert await chain_holds(store)


async def test_a_failed_commit_fails_every_unit_of_it(store: SqliteStore, path: Path) -> None:
    def orphan_found_at_commit(tx: Transaction) -> None:
        tx.audit.append(event())
        tx.audit.connection.execute("PRAGMA defer_foreign_keys = ON")
        tx.cards.want("nobody", "terminal", 1)

    await store.write(adding("p0"))
    outcomes = await asyncio.gather(
        store.write(adding("p1")), store.write(orphan_found_at_commit), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [RowRefused, RowRefused]
    await store.write(adding("p2"))
    assert await stored(store) == ["p0", "p2"]
    assert await chain_holds(store)


async def test_the_chain_goes_on_behind_what_another_process_wrote(
    store: SqliteStore, path: Path
) -> None:
    await store.write(adding("p1"))
    beside = await SqliteStore.open(path, beside=True)
    await beside.write(lambda tx: tx.audit.append(event("frozen")))
    await store.write(adding("p2"))
    await beside.close()

    assert await chain_holds(store)
    assert (await store.read(lambda tx: tx.audit.head()))[0] == 3


async def test_of_several_that_write_at_once_each_sees_what_the_others_wrote(
    store: SqliteStore, path: Path
) -> None:
    def counts(tx: Transaction) -> None:
        tx.flags.put("freeze", (tx.flags.get("freeze") or 0) + 1)
        tx.audit.append(event("frozen"))

    stores = [store, *[await SqliteStore.open(path, beside=True) for _ in range(3)]]
    for _ in range(20):
        await asyncio.gather(*(each.write(counts) for each in stores))
    for beside in stores[1:]:
        await beside.close()

    assert await store.read(lambda tx: tx.flags.get("freeze")) == 80
    assert await chain_holds(store)
    assert (await store.read(lambda tx: tx.audit.head()))[0] == 80


@pytest.mark.parametrize("hops", [1, 2, 3])
async def test_a_cancelled_caller_neither_blocks_nor_half_writes(
    store: SqliteStore, hops: int
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        adding("p1")(tx)
        began.set()
        go_on.wait(5)

    task = asyncio.create_task(store.write(slow))
    queued = asyncio.create_task(store.write(adding("p2")))
    await asyncio.to_thread(began.wait, 5)
    for cancelled in (task, queued):
        cancelled.cancel()
    go_on.set()
    for _ in range(hops):
        await asyncio.sleep(0)

    await asyncio.wait_for(store.write(adding("p3")), 1)

    assert await stored(store) == ["p3"]
    assert await chain_holds(store)


async def test_a_store_that_nobody_closed_does_not_keep_the_process_alive(path: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from bot.storage.sqlite import SqliteStore\n"
        "kept = []\n"
        "async def main():\n"
        "    kept.append(await SqliteStore.open(pathlib.Path(sys.argv[1])))\n"
        "    raise SystemExit(3)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(path),
        cwd=os.getcwd(),  # noqa: PTH109
    )

    assert await asyncio.wait_for(child.wait(), 10) == 3


async def test_no_write_waits_for_a_reader(store: SqliteStore) -> None:
    began, go_on = threading.Event(), threading.Event()
    await store.write(adding("p1"))

    def slow(tx: Transaction) -> tuple[list[str], list[str]]:
        before = tx.proposals.beginning_with("", 9)
        began.set()
        go_on.wait(5)
        return list(before), list(tx.proposals.beginning_with("", 9))

    reading = asyncio.create_task(store.read(slow))
    await asyncio.to_thread(began.wait, 5)
    await asyncio.wait_for(store.write(adding("p2")), 1)
    go_on.set()

    assert await reading == (["p1"], ["p1"])
    assert await stored(store) == ["p1", "p2"]


async def test_a_store_near_its_end_waits_a_moment_alone_for_whoever_has_the_database(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.hurry()
        async with asyncio.timeout(3):
            with pytest.raises(StoreUnavailable):
                await store.write(adding("p1"))
    await store.write(adding("p2"))
    assert await stored(store) == ["p2"]


async def test_who_still_waits_when_the_store_breaks_is_told_that_it_stopped(path: Path) -> None:
    begun, more = threading.Event(), threading.Event()
    store = await SqliteStore.open(path)

    def breaking(tx: Transaction) -> None:
        begun.set()
        assert more.wait(5)
        tx.audit.connection.close()

    waiting = [asyncio.create_task(store.write(breaking))]
    assert await asyncio.to_thread(begun.wait, 5)
    waiting += [asyncio.create_task(store.write(adding(f"p{n}"))) for n in range(3)]
    await asyncio.sleep(0)
    more.set()

    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 4
    with pytest.raises(StoreUnavailable):
        await store.write(adding("later"))
    await store.close()
