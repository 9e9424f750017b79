"""A row that was changed by hand stands still; nothing beside it waits for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import SENTINEL, Attention, Execution, Outcome, Verb
from lifecycle.state import State
from tests.builders import MAIL, a_document, a_proposal
from tests.world import a_world


async def test_other_windows_close_and_other_cards_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    world = a_world(store)
    for number in (1, 2):
        parameters = MAIL["parameters"] | {"subject": f"Invoice {number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", parameters=parameters)
        await world.approves("ana", f"p{number}")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id = 'p1'")
        other.commit()

    await world.passes(minutes=16)
    await world.submits(MAIL, proposal_id="p3")

    assert (await world.proposal("p2")).state is State.COMPLETED
    assert [p.proposal_id for p in await store.read(lambda tx: tx.proposals.waiting(0, 9))] == [
        "p3"
    ]
    with pytest.raises(RowUnreadable, match="p1"):
        await world.proposal("p1")
    await store.close()


async def test_a_page_is_full_although_rows_before_it_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    for number in range(9):
        opened = a_proposal(a_document(proposal_id=f"p{number}")).but(
            state=State.SENTINEL_APPROVED, opener=SENTINEL
        )
        await store.write(lambda tx, opened=opened: tx.proposals.add(opened))
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id < 'p6'")
        other.commit()

    def page(tx: Transaction, limit: int, after_id: str = "") -> list[str]:
        return [p.proposal_id for p in tx.proposals.ready_to_open(limit, after_id)]

    assert await store.read(lambda tx: page(tx, 2)) == ["p6", "p7"]
    assert await store.read(lambda tx: page(tx, 2, "p7")) == ["p8"]
    assert await store.read(lambda tx: page(tx, 9)) == ["p6", "p7", "p8"]
    # A page by number shows what it has: the next one begins behind it.
    assert len(await store.read(lambda tx: tx.proposals.waiting(5, 2))) == 1
    await store.close()


async def test_a_call_beside_a_row_that_can_no_longer_be_read_is_taken_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    world = a_world(store)
    running = Execution(Verb.EXECUTE, 1, Outcome.RUNNING)
    for number in (1, 2):
        cut_off = a_proposal(a_document(proposal_id=f"p{number}")).but(
            state=State.EXECUTING, execution=running
        )
        await store.write(lambda tx, cut_off=cut_off: tx.proposals.add(cut_off))
    await world.workflow.recoverer.find_orphans()
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id = 'p1'")
        other.commit()

    await world.workflow.recover()

    assert (await world.proposal("p2")).attention is Attention.OUTCOME_UNKNOWN
    await store.close()
