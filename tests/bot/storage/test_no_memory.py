"""Memory that is not there for a moment is a store that cannot be used for a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import StoreUnavailable, Transaction

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
