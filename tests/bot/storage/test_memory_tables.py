"""The store in memory undoes a unit also where the memory ended in the middle of a step."""

from __future__ import annotations

import pytest

from bot.storage.memory import MemoryStore
from bot.storage.memory_tables import Journal, Table
from lifecycle.ports import StoreUnavailable, Transaction


class Starved(str):
    """A key with which a table can be looked through, but for which it has no room."""

    asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        if self.asked == 2:
            raise MemoryError
        return super().__hash__()


def test_a_step_for_which_there_was_no_memory_keeps_no_other_from_being_undone() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table.put("before", 1)
    journal.keep()

    table.put("before", 2)
    table.put("first", 1)
    with pytest.raises(MemoryError):
        table.put(Starved("second"), 2)
    journal.undo()

    assert dict(table.items()) == {"before": 1}


def test_what_was_dropped_comes_back_beneath_what_was_changed_before_it() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table.put("a", 1)
    table.put("b", 1)
    journal.keep()

    table.put("a", 2)
    table.drop("b")
    table.put("c", 3)
    table.drop("a")
    journal.undo()

    assert list(table.items()) == [("a", 1), ("b", 1)]


async def test_a_unit_whose_memory_ends_in_a_step_leaves_nothing_behind() -> None:
    store = MemoryStore()

    def unit(tx: Transaction) -> None:
        tx.flags.put("frozen", 1)
        tx.flags.put(Starved("room"), 1)

    with pytest.raises(StoreUnavailable, match="there is no memory for it"):
        await store.write(unit)

    assert await store.read(lambda tx: tx.flags.get("frozen")) is None
