"""No record, no action: when the trail cannot be written nothing executes, and people are told."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifecycle.ports import Call, StoreUnavailable
from lifecycle.state import State
from tests.builders import MAIL, PROD, a_document, a_proposal
from tests.stories.unrecorded import FILE, SEARCH, break_audit, mend_audit
from tests.world import World


@pytest.fixture
def stage(on_disk: World) -> World:
    """The law over a real file, whose audit table a test can break."""
    return on_disk


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
    health = stage.workflow.world.troubles.unwritten.words() or ""
    mend_audit(tmp_path)

    await stage.workflow.close_due()
    await stage.workflow.idle()

    closed = await stage.proposal(proposal_id)
    assert "7 attempts failed" in health
    assert len(stage.notifier.alerts) == 2
    assert closed.state is State.COMPLETED
    assert "Closed late, 7 min after" in closed.explanation


async def test_a_store_that_closes_with_the_bot_is_told_to_nobody(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    stage.workflow.world.ending = True
    break_audit(tmp_path)

    reply = await stage.approves("ana", proposal_id)
    mend_audit(tmp_path)

    assert reply.code == "audit_unavailable"
    assert stage.notifier.alerts == []
