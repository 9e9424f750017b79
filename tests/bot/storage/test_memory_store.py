"""The store in memory keeps the contract of all stores."""

from __future__ import annotations

import tracemalloc

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.ports import Transaction
from tests.builders import DAY_MS, NOW_MS
from tests.contracts.store_contract import StoreContract


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


class TestMemoryStore(StoreContract):
    """Nothing is different here."""


async def test_the_events_of_a_day_are_forgotten_a_few_at_a_time(store: MemoryStore) -> None:
    """After a quiet day all of them went with one new event, each by a copy of all the others: of
    twenty thousand the bot would have died."""

    def hears_many(tx: Transaction) -> None:
        for number in range(2_000):
            assert tx.flags.first_time("discord", f"e{number}", NOW_MS)

    await store.write(hears_many)
    tracemalloc.start()
    try:
        for number in range(3):
            late_ms = NOW_MS + DAY_MS + number
            assert await store.write(
                lambda tx, at_ms=late_ms: tx.flags.first_time("discord", "e1999", at_ms)
            ) is (number == 0)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most_bytes < 10_000_000
