"""No record, no action: when the trail cannot be written nothing executes, and stopping works."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage.opening import open_store
from lifecycle.ports import Call, StoreUnavailable
from lifecycle.state import State
from tests.builders import MAIL, PROD, a_document, a_proposal
from tests.fakes.spool import MemorySpool
from tests.world import World, a_world

FILE = "signoff.db"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[World]:
    """The law over a real file, whose audit table a test can break."""
    store = await open_store(f"sqlite:///{FILE}", tmp_path)
    world = a_world(store)
    await world.workflow.start()
    yield world
    await world.workflow.stop(1)
    await store.close()


def break_audit(folder: Path) -> None:
    """Let every insert into the trail fail, as on a full disk."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON audit "
            "BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )


def mend_audit(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute("DROP TRIGGER broken")


async def test_L08_an_approval_that_cannot_be_recorded_leaves_it_decidable(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    break_audit(tmp_path)

    reply = await stage.approves("ana", proposal_id)
    assert reply.code == "audit_unavailable"
    assert stage.tool("production-deploy").calls == []
    mend_audit(tmp_path)
    await stage.approves("ana", proposal_id)

    assert stage.tool("production-deploy").verbs() == ["execute"]


async def test_an_approval_stands_where_only_its_beginning_cannot_be_written(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute(
            "CREATE TRIGGER broken BEFORE UPDATE ON proposals WHEN new.state = 'executing' "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )

    reply = await stage.approves("ana", proposal_id)
    kept = await stage.proposal(proposal_id)
    mend_audit(tmp_path)
    await stage.keeps_house()

    assert "It begins as soon as the store can be written again" in reply.words
    assert str(kept.opener) == "person ana"
    assert stage.tool("production-deploy").verbs() == ["execute"]


async def test_L08_a_submission_that_cannot_be_recorded_is_refused(
    stage: World, tmp_path: Path
) -> None:
    break_audit(tmp_path)

    answer = await stage.submits(PROD)

    assert (answer.reason, answer.state) == ("audit_unavailable", None)


async def test_L08_a_rejection_is_spooled_holds_at_once_and_is_replayed(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD, approval_class="dual")).proposal_id or ""
    await stage.approves("ana", proposal_id)
    break_audit(tmp_path)
    reply = await stage.rejects("ben", proposal_id, "stop")
    assert "Kept" in reply.words
    mend_audit(tmp_path)
    await stage.workflow.approve(proposal_id, stage.sender("dee"))
    await stage.workflow.idle()
    assert stage.tool("production-deploy").calls == []

    await stage.workflow.recover()

    ended = await stage.proposal(proposal_id)
    assert (ended.state, ended.explanation) == (State.REJECTED, "stop")
    assert stage.spool.stops == []


async def test_L08_a_roll_back_is_spooled_and_no_window_closes_meanwhile(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    stage.clock.advance(900)
    assert await stage.workflow.close_due() == 0

    await stage.workflow.recover()
    await stage.workflow.idle()

    assert stage.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await stage.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_spooled_stop_survives_the_process(stage: World, tmp_path: Path) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)

    await stage.restarts()

    assert (await stage.proposal(proposal_id)).state is State.REJECTED


SEARCH = {
    "proposal_id": "p1",
    "tool": "search",
    "action_type": "read",
    "target": {"resource_type": "web", "resource_id": "q", "domain": "x", "constraints": {}},
    "parameters": {"q": "terms"},
    "justification": "Pat asked for the terms of payment",
    "approval_class": "none",
}


async def test_what_was_carried_out_is_never_answered_as_not_done(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = stage.store.write

    async def write(unit: Any) -> Any:
        if "complete" in await stage.trail("p1"):
            raise StoreUnavailable("disk full")
        return await real(unit)

    monkeypatch.setattr(stage.store, "write", write)
    document = a_document(SEARCH, actor="leila", ts_ms=stage.clock.now_ms())

    answer = await stage.workflow.submit(json.dumps(document).encode(), stage.sender("leila"))

    assert (answer.state, answer.reason) == ("completed", "tool_succeeded")


async def test_what_is_on_record_is_never_answered_as_not_taken(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, writes = stage.store.write, []

    async def write(unit: Any) -> Any:
        writes.append(unit)
        if len(writes) == 2:
            raise StoreUnavailable("disk full")
        return await real(unit)

    monkeypatch.setattr(stage.store, "write", write)
    long = PROD["parameters"] | {"notes": "Sentinel needs a thread for this. " * 400}
    document = a_document(PROD, ts_ms=stage.clock.now_ms(), parameters=long)

    answer = await stage.workflow.submit(json.dumps(document).encode(), stage.sender("leila"))

    assert (answer.proposal_id, answer.state) == ("p1", "pending")
    assert (await stage.proposal("p1")).verdict is None


async def test_whoever_left_before_the_answer_is_told_by_the_outbox(stage: World) -> None:
    gate, began = asyncio.Event(), asyncio.Event()

    async def searches(call: Call) -> dict[str, Any]:
        began.set()
        await gate.wait()
        return {}

    stage.tool("search").on["execute"] = searches
    document = a_document(SEARCH, actor="leila", ts_ms=stage.clock.now_ms())
    waits = asyncio.create_task(
        stage.workflow.submit(json.dumps(document).encode(), stage.sender("leila"))
    )
    await began.wait()
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    gate.set()
    await stage.workflow.idle()

    told = await stage.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [m.body["state"] for m in told if m.kind == "ended"] == ["completed"]


async def test_L08_people_are_told_once_that_nothing_can_be_recorded_and_once_that_it_can(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    break_audit(tmp_path)
    for person in ("ana", "dee"):
        await stage.approves(person, proposal_id)
    mend_audit(tmp_path)
    await stage.approves("ana", proposal_id)
    await stage.approves("ana", proposal_id)

    told, mended = stage.notifier.alerts
    assert "The store cannot be written since 2026-03-02 12:00:00 UTC" in told
    assert "disk full" in told
    assert "attempts failed" in mended
    assert (await stage.proposal(proposal_id)).state is State.COMPLETED


async def test_a_row_that_was_taken_is_no_trouble_of_the_store(stage: World) -> None:
    await stage.store.write(lambda tx: tx.proposals.add(a_proposal()))

    with pytest.raises(StoreUnavailable):
        await stage.workflow.world.write(lambda tx: tx.proposals.add(a_proposal()))

    assert stage.notifier.alerts == []


async def test_J11_a_closing_that_the_store_refuses_is_told_of_and_done_once_it_can(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.clock.advance(900)
    break_audit(tmp_path)
    for _ in range(7):
        with pytest.raises(StoreUnavailable):
            await stage.workflow.close_due()
        stage.clock.advance(60)
    health = stage.workflow.world.unwritten.words() or ""
    mend_audit(tmp_path)

    await stage.workflow.close_due()
    await stage.workflow.idle()

    closed = await stage.proposal(proposal_id)
    assert "7 attempts failed" in health
    assert len(stage.notifier.alerts) == 2
    assert closed.state is State.COMPLETED
    assert "Closed late, 7 min after" in closed.explanation


class FullSpool(MemorySpool):
    """A spool on a disk that is full."""

    full = True

    def keep(self, stop: Mapping[str, Any]) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().keep(stop)


@pytest.mark.parametrize("spool_mends", [True, False])
async def test_L08_a_stop_that_neither_store_nor_spool_can_take_is_carried_out_once_one_can(
    stage: World, tmp_path: Path, spool_mends: bool
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.workflow.world.spool = spool = FullSpool()
    break_audit(tmp_path)
    reply = await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    stage.clock.advance(900)
    assert await stage.workflow.close_due() == 0
    spool.full = not spool_mends

    await stage.workflow.recover()
    await stage.workflow.idle()

    assert "carried out as soon as" in reply.words
    assert stage.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await stage.proposal(proposal_id)).reason == "rolled_back_by_person"
    assert (stage.workflow.world.held, stage.workflow.world.unspooled) == (set(), [])


async def test_a_bot_that_ends_spools_what_it_had_in_memory_alone(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(MAIL)).proposal_id or ""
    stage.workflow.world.spool = spool = FullSpool()
    break_audit(tmp_path)
    await stage.rejects("ben", proposal_id, "stop")
    mend_audit(tmp_path)
    spool.full = False

    await stage.workflow.stop(1)

    assert [stop["proposal_id"] for stop in spool.stops] == [proposal_id]


async def test_a_store_that_closes_with_the_bot_is_told_to_nobody(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    stage.workflow.world.stopping = True
    break_audit(tmp_path)

    reply = await stage.approves("ana", proposal_id)
    mend_audit(tmp_path)

    assert reply.code == "audit_unavailable"
    assert stage.notifier.alerts == []
