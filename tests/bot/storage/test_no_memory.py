"""Memory that is not there for a moment is a store that cannot be used for a moment."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.storage.job import Job
from bot.storage.sqlite import SqliteStore
from lifecycle.ports import StoreUnavailable, Transaction
from tests.builders import a_proposal

NO_MEMORY = "there is no memory for it; end what takes that, or let the bot have more"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def lacks_memory(*_: Any) -> None:
    raise MemoryError


async def test_a_unit_without_memory_is_one_that_the_store_did_not_take(
    store: SqliteStore,
) -> None:
    def unit(tx: Transaction) -> None:
        tx.flags.put("half", 1)
        lacks_memory()

    with pytest.raises(StoreUnavailable, match=NO_MEMORY):
        await store.write(unit)

    await store.write(lambda tx: tx.flags.put("whole", 1))
    assert await store.read(lambda tx: (tx.flags.get("half"), tx.flags.get("whole"))) == (None, 1)


async def test_sqlite_without_memory_takes_nothing_and_goes_on_with_the_next(
    store: SqliteStore,
) -> None:
    def short(tx: Transaction) -> None:
        plain = tx.audit.connection  # type: ignore[attr-defined]
        plain.create_function("lacks_memory", 0, lacks_memory)
        plain.execute(
            "CREATE TEMP TRIGGER short AFTER INSERT ON flags WHEN new.name = 'large' "
            "BEGIN SELECT lacks_memory(); END"
        )

    await store.write(short)
    with pytest.raises(StoreUnavailable, match=NO_MEMORY):
        await store.write(lambda tx: tx.flags.put("large", 1))

    await store.write(lambda tx: tx.flags.put("small", 1))
    assert await store.read(lambda tx: (tx.flags.get("large"), tx.flags.get("small"))) == (None, 1)


async def test_a_view_without_memory_is_one_that_cannot_be_read_now(store: SqliteStore) -> None:
    with pytest.raises(StoreUnavailable, match=f"cannot be read: {NO_MEMORY}"):
        await store.read(lacks_memory)


async def test_a_view_whose_end_fails_keeps_no_later_view_from_being_read(
    store: SqliteStore,
) -> None:
    denied: list[str] = []

    def once(_action: int, what: str | None, *_: str | None) -> int:
        if what != "ROLLBACK" or denied:
            return sqlite3.SQLITE_OK
        denied.append(what)
        return sqlite3.SQLITE_DENY

    def view(tx: Transaction) -> None:
        tx.audit.connection.set_authorizer(once)  # type: ignore[attr-defined]

    with pytest.raises(StoreUnavailable, match="not authorized"):
        await store.read(view)

    await store.write(lambda tx: tx.flags.put("newer", 1))
    read = [await store.read(lambda tx: tx.flags.get("newer")) for _ in range(4)]
    assert read == [1, 1, 1, 1]


class Untold(sqlite3.Error):
    """An error over which even its own handling fails, as without memory."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


async def test_what_was_not_committed_is_never_answered_as_done_even_if_no_error_can_be_told(
    store: SqliteStore,
) -> None:
    def unit(tx: Transaction) -> None:
        tx.flags.put("lost", 1)
        raise Untold

    log = logging.getLogger("signoff.storage")
    log.addFilter(lacks_memory)
    try:
        with pytest.raises(StoreUnavailable, match="The store stopped"):
            await store.write(unit)
    finally:
        log.removeFilter(lacks_memory)

    with pytest.raises(StoreUnavailable, match="The store stopped"):
        store.check_serving()
    with pytest.raises(StoreUnavailable, match="The store stopped"):
        await store.write(lambda tx: None)
    assert await store.read(lambda tx: tx.flags.get("lost")) is None


async def test_whoever_comes_while_the_store_is_stopping_is_answered(store: SqliteStore) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writer = store._writer
    assert writer is not None

    def comes(_: logging.LogRecord) -> bool:
        """Be the caller who found it open before it broke, and hands over now."""
        writer._jobs.put(Job(lambda tx: None, answer))
        return True

    log = logging.getLogger("signoff.storage")
    log.addFilter(comes)
    try:
        with pytest.raises(StoreUnavailable, match="The store stopped"):
            await store.write(lambda tx: tx.audit.connection.close())  # type: ignore[attr-defined]
        with pytest.raises(StoreUnavailable, match="The store stopped"):
            await asyncio.wait_for(answer, 5)
    finally:
        log.removeFilter(comes)


def breaks(*_: Any) -> None:
    raise LookupError


async def test_what_was_committed_is_answered_as_done_also_if_the_store_stops_behind_it(
    store: SqliteStore,
) -> None:
    """Whoever hears that a unit was not taken does again what it has begun."""
    await store.write(lambda tx: tx.proposals.add(a_proposal()))

    def masked(tx: Transaction) -> None:
        held = tx.proposals.get("p1")
        assert held is not None
        tx.proposals.save(held.but(masked=True, version=held.version + 1), held)
        tx.audit.connection.row_factory = breaks  # type: ignore[attr-defined]

    await store.write(masked)

    with pytest.raises(StoreUnavailable, match="The store stopped"):
        store.check_serving()
    held = await store.read(lambda tx: tx.proposals.get("p1"))
    assert held is not None
    assert held.masked


async def test_callers_are_answered_once_there_is_memory_for_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer had ended, and everybody waited for ever."""
    loop = asyncio.get_running_loop()
    usual, lacks = loop.call_soon_threadsafe, [True, True]

    def starved(*args: Any, **kept: Any) -> asyncio.Handle:
        if lacks:
            lacks.pop()
            raise MemoryError
        return usual(*args, **kept)

    monkeypatch.setattr(loop, "call_soon_threadsafe", starved)
    async with asyncio.timeout(10):
        await store.write(lambda tx: tx.flags.put("first", 1))
        await store.write(lambda tx: tx.flags.put("second", 1))

    assert await store.read(lambda tx: (tx.flags.get("first"), tx.flags.get("second"))) == (1, 1)
