"""Rows changed behind our back, evidence before a crash, deadlines that nobody swept."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.storage.opening import open_store
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.tools import waiting_for
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
    await world.workflow.stop(1)
    await store.close()


def spoil(folder: Path, proposal_id: str) -> None:
    with sqlite3.connect(folder / "signoff.db") as db:
        db.execute("UPDATE proposals SET document = ? WHERE proposal_id = ?", (b"{", proposal_id))


async def observes(world: World, *, ok: bool) -> None:
    packet = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": world.clock.now_ms(),
        "payload": {"ok": ok},
    }
    source = world.sender("crm-sensor")
    assert (await world.workflow.record_evidence(json.dumps(packet).encode(), source)).done


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


async def test_evidence_recorded_right_before_a_crash_is_judged_at_the_start(
    stage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await observes(stage, ok=True)
    proposal_id = (await stage.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.clock.advance(1)

    async def dies(evidence_id: str) -> int:
        raise StoreUnavailable("the process ended")

    with monkeypatch.context() as patched:
        patched.setattr(type(stage.workflow.adopter), "evidence_changed", lambda _s, e: dies(e))
        await observes(stage, ok=False)
    await stage.restarts()

    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_a_source_that_hangs_up_does_not_stop_the_judging(stage: World) -> None:
    await observes(stage, ok=True)
    proposal_id = (await stage.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await stage.approves("ana", proposal_id)
    stage.clock.advance(1)
    real, recorded = stage.store.write, asyncio.Event()

    async def write(unit: Any) -> Any:
        value = await real(unit)
        recorded.set()
        return value

    stage.store.write = write  # type: ignore[method-assign]
    telling = asyncio.create_task(observes(stage, ok=False))
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
