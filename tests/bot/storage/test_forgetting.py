"""What nobody can ask for any more is forgotten, a little with every addition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import Transaction
from tests.builders import DAY_MS, NOW_MS


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "signoff.db")
    yield opened
    await opened.close()


async def rows(store: SqliteStore, table: str) -> int:
    count = f"SELECT count(*) FROM {table}"
    return await store.read(lambda tx: tx.audit.connection.execute(count).fetchone()[0])


@pytest.mark.parametrize("table", ["events", "uses"])
async def test_yesterdays_rows_go_as_todays_come(store: SqliteStore, table: str) -> None:
    def add(tx: Transaction, number: int, at_ms: int) -> None:
        if table == "events":
            assert tx.flags.first_time("discord", f"e{number}", at_ms)
        else:
            tx.uses.add("leila", f"tool-{number}", at_ms)

    def many(first: int, count: int, at_ms: int) -> None:
        return lambda tx: [add(tx, first + n, at_ms) for n in range(count)]

    await store.write(many(0, 100, NOW_MS))
    assert await rows(store, table) == 100
    await store.write(many(100, 1, NOW_MS + DAY_MS - 1))
    assert await rows(store, table) == 101

    await store.write(many(200, 1, NOW_MS + DAY_MS + 1))
    assert await rows(store, table) == 101 + 1 - 8
    await store.write(many(300, 20, NOW_MS + DAY_MS + 1))

    assert await rows(store, table) == 22


async def test_a_flag_that_says_nothing_leaves_no_row(store: SqliteStore) -> None:
    """One was left for each policy that nothing stood under any more, and for each place in which
    an event had waited."""
    await store.write(lambda tx: [tx.flags.put(f"f{n}", n) for n in range(3)])

    def removes(tx: Transaction) -> list[object]:
        for name in ("f1", "f2", "never set"):
            tx.flags.put(name, None)
        return [tx.flags.get(f"f{n}") for n in range(3)]

    assert await store.write(removes) == [0, None, None]
    assert await rows(store, "flags") == 1
    assert await store.read(lambda tx: tx.flags.get("f1")) is None


async def test_a_flag_that_was_removed_in_vain_is_there_again(store: SqliteStore) -> None:
    await store.write(lambda tx: tx.flags.put("f", 1))

    def fails(tx: Transaction) -> None:
        tx.flags.put("f", None)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(fails)
    assert await store.read(lambda tx: tx.flags.get("f")) == 1
    assert await store.write(lambda tx: tx.flags.get("f")) == 1
