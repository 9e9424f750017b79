"""What stays at hand between units, and what is looked up anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import Transaction
from lifecycle.proposal import Execution, Outcome, Verb
from lifecycle.records import Money
from lifecycle.state import State
from tests.builders import a_document, a_proposal
from tests.by_hand import by_hand
from tests.contracts.store_examples import event


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path)
    await opened.write(lambda tx: tx.proposals.add(a_proposal()))
    yield opened
    await opened.close()


async def test_large_rows_many_flags_and_what_has_ended_do_not_stay_at_hand(
    store: SqliteStore,
) -> None:
    def unit(tx: Transaction) -> list[str]:
        desk = tx.proposals.desk  # type: ignore[attr-defined]
        for n in range(40):
            name, receipt = f"big-{n}", {"text": "x" * 40_000}
            running = Execution(Verb.EXECUTE, 1, Outcome.DONE, receipt=receipt)
            row = a_proposal(a_document(proposal_id=name), state=State.EXECUTING, execution=running)
            tx.proposals.add(row)
            ended = a_proposal(a_document(proposal_id=f"end-{n}"), state=State.REJECTED)
            tx.proposals.add(ended)
            tx.flags.put(f"flag-{n}", "x" * 2_000)
            assert tx.flags.get(f"flag-{n}") == "x" * 2_000
        tx.proposals.count_waiting()
        return [*desk._kept, *desk.flags]

    assert await store.write(unit) == ["p1"]


async def test_a_flag_that_was_read_and_set_anew_is_read_anew(store: SqliteStore) -> None:
    for value in ("one", "two"):
        await store.write(lambda tx, value=value: tx.flags.put("frozen", value))
        assert await store.write(lambda tx: tx.flags.get("frozen")) == value


async def test_what_another_proposal_of_the_same_unit_spends_counts(store: SqliteStore) -> None:
    def unit(tx: Transaction) -> object:
        tx.proposals.add(a_proposal(a_document(proposal_id="p2")))
        tx.spending.add("leila", "p2", [Money("USD", Decimal(5))])
        return tx.spending.spent("leila", 0, "p3"), tx.spending.spent("leila", 0, "p2")

    assert await store.write(unit) == ({"USD": Decimal(5)}, {})


async def test_the_end_of_the_trail_is_looked_up_anew_only_after_somebody_else_wrote(
    store: SqliteStore, path: Path
) -> None:
    asked: list[str] = []

    def told(tx: Transaction) -> tuple[int, str]:
        tx.audit.connection.set_trace_callback(asked.append)
        entry = tx.audit.append(event("told"))
        return entry.seq, entry.prev_hash

    async def looks() -> int:
        asked.clear()
        await store.write(told)
        return sum("FROM audit ORDER BY seq DESC" in statement for statement in asked)

    await store.write(told)
    assert [await looks(), await looks()] == [0, 0]
    by_hand(path, "UPDATE audit SET entry_hash = 'forged' WHERE seq = 3")
    assert await looks() == 1
    assert (await store.write(told))[0] == 5
