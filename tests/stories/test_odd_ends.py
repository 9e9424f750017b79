"""Rows changed behind our back, evidence before a crash, deadlines that nobody swept."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.storage.opening import open_store
from lifecycle.calls.calling import CallResult
from lifecycle.calls.concluding import conclude
from lifecycle.ports import StoreUnavailable, Tool
from lifecycle.proposal import Attention, Outcome
from lifecycle.records import EvidencePacket
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising, waiting_for
from tests.roomy import a_roomy_policy
from tests.world import World, a_world

SEND, DEPLOY = "send-email", "production-deploy"
CONDITION = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[World]:
    """The law over a real file."""
    store = await open_store("sqlite:///signoff.db", tmp_path)
    world = a_world(store, a_roomy_policy())
    await world.workflow.start()
    yield world
    await world.workflow.shut_down(1)
    await store.close()


def spoil(folder: Path, proposal_id: str) -> None:
    with closing(sqlite3.connect(folder / "signoff.db")) as db, db:
        db.execute("UPDATE proposals SET document = ? WHERE proposal_id = ?", (b"{", proposal_id))


async def test_a_spoiled_row_calls_a_person_and_holds_up_nobody(
    stage: World, tmp_path: Path
) -> None:
    first = (await stage.submits(MAIL)).proposal_id or ""
    other = (await stage.submits(MAIL, parameters={"to": "sam@partner.example"})).proposal_id or ""
    await stage.approves("ana", first)
    await stage.approves("ana", other)
    spoil(tmp_path, first)

    await stage.adopts(tools=dict(stage.workflow.policy.tools))
    await stage.passes(minutes=20)

    spoiled = await stage.proposal(first)
    assert spoiled.attention is Attention.ROLLBACK_INCOMPLETE
    assert (await stage.proposal(other)).state is State.COMPLETED


async def test_a_spoiled_row_that_waits_ends_at_the_next_check(
    stage: World, tmp_path: Path
) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    spoil(tmp_path, proposal_id)

    await stage.adopts(tools=dict(stage.workflow.policy.tools))

    assert (await stage.proposal(proposal_id)).reason == "digest_mismatch"


async def test_a_row_spoiled_while_its_tool_runs_does_not_hide_the_answer(
    stage: World, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    stage.tool(DEPLOY).on["execute"] = waiting_for(gate, {"affected_records": 3})
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    await stage.workflow.approve(proposal_id, stage.sender("ana"))
    await asyncio.sleep(0.01)
    spoil(tmp_path, proposal_id)
    gate.set()
    await stage.workflow.idle()

    assert (await stage.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), RuntimeError("no thread")])
async def test_what_fails_before_a_call_is_no_call_that_runs_for_ever(
    stage: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def tool(name: str) -> Tool:
        raise error

    monkeypatch.setattr(stage.toolbox, "tool", tool)
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    await stage.approves("ana", proposal_id)

    ended = await stage.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "tool_failed")
    assert "Nothing was called" in (ended.explanation or "")


async def test_evidence_recorded_right_before_a_crash_is_judged_at_the_start(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.observes(True)
    proposal_id = (await stage.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.clock.advance(1)

    async def dies(evidence_id: str) -> int:
        raise StoreUnavailable("the process ended")

    with monkeypatch.context() as patched:
        patched.setattr(type(stage.workflow.adopter), "evidence_changed", lambda _s, e: dies(e))
        await stage.observes(False)
    await stage.restarts()

    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_a_source_that_hangs_up_does_not_stop_the_judging(stage: World) -> None:
    await stage.observes(True)
    proposal_id = (await stage.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.clock.advance(1)
    real, recorded = stage.store.write, asyncio.Event()

    async def write(unit: Any) -> Any:
        value = await real(unit)
        recorded.set()
        return value

    stage.store.write = write  # type: ignore[method-assign]
    telling = asyncio.create_task(stage.observes(False))
    await recorded.wait()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    await stage.workflow.idle()

    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_an_expired_twin_is_no_twin_however_many_are_late(stage: World) -> None:
    for number in range(60):
        await stage.submits(PROD, parameters={"version": f"v{number}"})
    twin = (await stage.submits(PROD)).proposal_id
    stage.clock.advance(24 * 3600)

    again = await stage.submits(PROD)

    assert again.deduplicated is False
    assert again.proposal_id != twin
    assert (await stage.proposal(twin or "")).reason == "expired"


async def test_an_opening_that_is_tried_before_the_sweep_finds_it_expired(stage: World) -> None:
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    await stage.workflow.freeze("wait", stage.sender("ana"))
    await stage.approves("ana", proposal_id)
    await stage.workflow.thaw(stage.sender("ana"))
    stage.clock.set((await stage.proposal(proposal_id)).deadline_ms)

    await stage.workflow.open_ready()
    await stage.workflow.idle()

    assert stage.tool(DEPLOY).calls == []
    assert (await stage.proposal(proposal_id)).reason == "expired"


@pytest.mark.parametrize("emoji", ["✅", "❌"])
async def test_a_decision_after_the_deadline_finds_it_expired_though_nobody_swept(
    stage: World, emoji: str
) -> None:
    proposal_id = (await stage.submits(PROD, approval_class="dual")).proposal_id or ""
    stage.clock.set((await stage.proposal(proposal_id)).deadline_ms)

    reply = await stage.reacts("ana", proposal_id, emoji)

    ended = await stage.proposal(proposal_id)
    reviews = await stage.store.read(lambda tx: tx.reviews.of(proposal_id))
    assert (reply.code, ended.reason, list(reviews)) == ("already_decided", "expired", [])
    assert (await stage.audit("ignored"))[-1]["reason"] == "already_decided"


async def approved_while_frozen(stage: World) -> str:
    await stage.observes(True)
    proposal_id = (await stage.submits(PROD, preconditions=[CONDITION])).proposal_id or ""
    await stage.workflow.freeze("wait", stage.sender("ana"))
    await stage.approves("ana", proposal_id)
    stage.clock.advance(1)
    return proposal_id


async def test_what_sentinel_finds_right_before_the_execution_ends_it(stage: World) -> None:
    proposal_id = await approved_while_frozen(stage)
    await stage.observes(False)
    await stage.workflow.thaw(stage.sender("ana"))
    await stage.keeps_house()

    assert stage.tool(DEPLOY).calls == []
    assert (await stage.proposal(proposal_id)).reason == "preconditions_hold"


async def test_evidence_that_turns_between_the_last_check_and_the_beginning_is_judged(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = await approved_while_frozen(stage)
    await stage.workflow.thaw(stage.sender("ana"))
    real, turned = type(stage.workflow.gatekeeper)._verdict, []

    async def verdict(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = await real(self, *args, **kwargs)
        if not turned:
            turned.append(True)
            packet = EvidencePacket("e1", "crm-sensor", stage.clock.now_ms(), 0, {"ok": False})
            await stage.store.write(lambda tx: tx.evidence.put(packet))
        return found

    monkeypatch.setattr(type(stage.workflow.gatekeeper), "_verdict", verdict)
    await stage.workflow.gatekeeper.open(proposal_id)
    await stage.workflow.idle()

    assert stage.tool(DEPLOY).calls == []
    assert (await stage.proposal(proposal_id)).reason == "preconditions_hold"


async def test_an_answer_to_a_call_that_is_not_awaited_any_more_changes_nothing(
    stage: World,
) -> None:
    stage.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await stage.submits(PROD)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    unknown = await stage.proposal(proposal_id)
    assert unknown.execution is not None
    gate = asyncio.Event()
    stage.tool(DEPLOY).on["execute"] = waiting_for(gate)
    late = CallResult(Outcome.DONE, {})
    moment = stage.workflow.world.moment()

    async def answers_late() -> Any:
        seen = await stage.proposal(proposal_id)
        called = replace(unknown.execution, outcome=Outcome.RUNNING)  # type: ignore[type-var]
        await stage.store.write(lambda tx: conclude(tx, moment, seen, called, late))
        return await stage.proposal(proposal_id)

    assert (await answers_late()).attention is Attention.OUTCOME_UNKNOWN
    await stage.workflow.retry(proposal_id, stage.sender("ana"))
    assert (await answers_late()).state is State.EXECUTING
    gate.set()
    await stage.workflow.idle()
    assert (await stage.proposal(proposal_id)).state is State.COMPLETED


async def test_what_is_approved_too_early_waits_for_its_time(stage: World) -> None:
    now_ms = stage.clock.now_ms()
    window = {
        "valid_from_ms": now_ms + 60_000,
        "valid_until_ms": now_ms + 600_000,
        "max_duration_ms": 10_000,
    }
    proposal_id = (await stage.submits(PROD, time_window=window)).proposal_id or ""
    await stage.approves("ana", proposal_id)
    await stage.passes(seconds=59)
    await stage.passes(seconds=0.999)
    assert stage.tool(DEPLOY).calls == []

    await stage.passes(seconds=0.001)

    assert stage.tool(DEPLOY).verbs() == ["execute"]
