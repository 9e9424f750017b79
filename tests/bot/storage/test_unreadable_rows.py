"""A row that was changed by hand stands still; nothing beside it waits for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage import told_once
from bot.storage.sqlite import SqliteStore
from lifecycle.calls.finishing import Concluded
from lifecycle.canonical import s256
from lifecycle.clockwork import closing as closing_law
from lifecycle.moment import Moment
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import SENTINEL, Attention, Cause, Execution, Outcome, Proposal, Verb
from lifecycle.state import State
from tests.builders import MAIL, a_document, a_proposal
from tests.stories.conftest import on_disk as on_disk
from tests.stories.unrecorded import break_audit, mend_audit
from tests.world import World, a_world


async def test_other_windows_close_and_other_cards_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    world = a_world(store)
    await two_mails(world)
    for number in (1, 2):
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


def gutted(path: Path, proposal_id: str) -> None:
    """Write an R3 document that is none, and its hash beside it."""
    digest = s256(b"{}")
    values = (b"{}", digest, proposal_id)
    with closing(sqlite3.connect(path)) as other:
        other.execute(
            "UPDATE proposals SET r3_document = ?, r3_s256 = ? WHERE proposal_id = ?", values
        )
        other.commit()


async def two_mails(world: World) -> None:
    for number in (1, 2):
        parameters = MAIL["parameters"] | {"subject": f"Invoice {number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", parameters=parameters)


async def test_a_window_over_bytes_that_are_no_document_is_taken_back_and_others_close(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "signoff.db")
    world = a_world(store)
    await two_mails(world)
    for number in (1, 2):
        await world.approves("ana", f"p{number}")
    gutted(tmp_path / "signoff.db", "p1")

    await world.passes(minutes=16)

    first, second = await world.proposal("p1"), await world.proposal("p2")
    assert (first.state, first.reason) == (State.ROLLED_BACK, "digest_mismatch")
    assert second.state is State.COMPLETED
    await store.close()


async def test_what_waits_over_bytes_that_are_no_document_ends_and_others_begin(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "signoff.db")
    world = a_world(store)
    await two_mails(world)
    await world.workflow.freeze("for a moment", world.sender("ana"))
    for number in (1, 2):
        await world.approves("ana", f"p{number}")
    gutted(tmp_path / "signoff.db", "p1")
    await world.workflow.thaw(world.sender("ana"))

    await world.keeps_house()
    await world.restarts()

    first, second = await world.proposal("p1"), await world.proposal("p2")
    assert (first.state, first.reason) == (State.REJECTED, "digest_mismatch")
    assert second.state is State.EXECUTING
    await store.close()


async def test_one_window_that_cannot_be_judged_stands_in_the_way_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(tmp_path / "signoff.db")
    world = a_world(store)
    await two_mails(world)
    for number in (1, 2):
        await world.approves("ana", f"p{number}")
    real = closing_law.finish

    def stumbles(
        tx: Transaction, moment: Moment, proposal: Proposal, cause: Cause, *told: Any
    ) -> Concluded:
        if proposal.proposal_id == "p1":
            raise ZeroDivisionError
        return real(tx, moment, proposal, cause, *told)

    monkeypatch.setattr(closing_law, "finish", stumbles)

    await world.passes(minutes=16)
    second = await world.proposal("p2")
    for _ in range(6):
        await world.passes(minutes=2)

    assert second.state is State.COMPLETED
    assert (await world.proposal("p1")).attention is Attention.OVERDUE
    await store.close()


async def test_a_stop_of_a_row_that_cannot_be_read_is_kept_and_holds_up_none_behind_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "signoff.db"
    store = await SqliteStore.open(path)
    world = a_world(store)
    await two_mails(world)
    with closing(sqlite3.connect(path)) as other:
        whole = other.execute("SELECT rest FROM proposals WHERE proposal_id = 'p1'").fetchone()
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id = 'p1'")
        other.commit()
    kept = await world.rejects("ben", "p1", "no")
    break_audit(tmp_path)
    behind = await world.rejects("ben", "p2", "no")
    mend_audit(tmp_path)

    await world.keeps_house()
    second, waiting = (
        await world.proposal("p2"),
        [stop["proposal_id"] for stop in world.spool.stops],
    )
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE proposals SET rest = ? WHERE proposal_id = 'p1'", whole)
        other.commit()
    await world.keeps_house()

    assert "Kept" in kept.words
    assert "cannot be read: " in kept.words
    assert ". What you stopped stands still" in kept.words  # in whole sentences
    assert "Kept" in behind.words
    assert (second.state, second.reason) == (State.REJECTED, "rejected_by_person")
    assert waiting == ["p1"]
    assert (await world.proposal("p1")).reason == "rejected_by_person"
    assert (world.spool.stops, world.workflow.world.held) == ([], set())
    await store.close()


async def test_a_page_of_messages_and_of_tasks_is_full_although_rows_before_it_cannot_be_read(
    on_disk: World, tmp_path: Path
) -> None:
    """What stood behind a page of them was never told to anybody."""
    world = on_disk
    for number in range(4):
        target = MAIL["target"] | {"resource_id": f"of-{number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", target=target, task_id=f"t{number}")
        await world.rejects("ben", f"p{number}")
    with closing(sqlite3.connect(tmp_path / "signoff.db")) as other:
        other.execute("UPDATE outbox SET body = '{' WHERE key < 'end:p3'")
        other.execute("UPDATE tasks SET reason = X'00' WHERE task_id < 't3'")
        other.commit()

    def page(tx: Transaction) -> tuple[list[str], list[str]]:
        messages = tx.outbox.waiting("terminal", 2**62, 1)
        return [m.key for m in messages], [t.task_id for t in tx.backlog.tasks("leila", 1)]

    assert await world.store.read(page) == (["end:p3"], ["t3"])


async def test_of_very_many_rows_that_cannot_be_read_the_log_does_not_name_each_again(
    on_disk: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Five thousand of them were logged each second."""
    monkeypatch.setattr(told_once, "TOLD", set())
    last = f"number < {told_once.MOST_TOLD + 500}"
    row = "'k' || number, 'terminal', '', 'note', '{', 1000, 0, 0"
    with closing(sqlite3.connect(tmp_path / "signoff.db")) as other:
        other.execute(
            "WITH RECURSIVE numbers (number) AS "
            f"(SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE {last}) "
            "INSERT INTO outbox (key, surface, recipient, kind, body, created_at_ms, "
            f"not_before_ms, attempts) SELECT {row} FROM numbers"
        )
        other.commit()

    for _ in range(3):
        assert not await on_disk.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 9))

    assert len(caplog.records) == told_once.MOST_TOLD
