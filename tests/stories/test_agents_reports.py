"""What an agent says that it did, or never says: one receipt counts, silence is noticed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.policy import ToolKind
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Execution, Outcome, Verb
from lifecycle.state import State
from tests.builders import PROD, REFUND, a_document, a_proposal
from tests.fakes.tools import waiting_for
from tests.stories.permits import REFUNDS, begun, begun_after, permitted
from tests.world import World


async def test_an_agent_cannot_report_for_a_tool_that_is_not_its_own(world: World) -> None:
    gate = asyncio.Event()
    world.tool("production-deploy").on["execute"] = waiting_for(gate, {"done": "really"})
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))

    reply = await world.workflow.report(proposal_id, world.sender("leila"), "failed", {})
    during = await world.proposal(proposal_id)
    gate.set()
    await world.workflow.idle()

    assert reply.code == "permit_mismatch"
    assert during.state is State.EXECUTING
    assert (await world.proposal(proposal_id)).reason == "tool_succeeded"


async def test_an_agent_that_never_reports_is_noticed_although_its_tool_is_gone(
    world: World,
) -> None:
    proposal_id = await begun(world)
    tools = {n: t for n, t in world.workflow.policy.tools.items() if n != REFUNDS}
    await world.adopts(tools=tools)

    await world.passes(minutes=61)

    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_an_agent_has_as_long_as_its_document_says_where_that_is_shorter(
    world: World,
) -> None:
    now_ms = world.clock.now_ms()
    bounds = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 600_000, "max_duration_ms": 5_000}
    await permitted(world, time_window=bounds)
    proposal_id = await begun_after(world)

    world.clock.advance(4)
    await world.workflow.recover()
    before = (await world.proposal(proposal_id)).attention
    world.clock.advance(1)
    await world.workflow.recover()

    assert before is None
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_agents_that_never_report_are_noticed_however_many_calls_are_in_flight(
    world: World,
) -> None:
    now_ms = world.clock.now_ms()
    silent = Execution(Verb.EXECUTE, 1, Outcome.RUNNING, began_at_ms=now_ms, by_agent=True)
    ids = [f"p{number:03d}" for number in range(201)]

    def in_flight(tx: Transaction) -> None:
        for proposal_id in ids:
            row = a_proposal(a_document(proposal_id=proposal_id))
            tx.proposals.add(row.but(tool=REFUNDS, state=State.EXECUTING, execution=silent))

    await world.store.write(in_flight)
    world.clock.advance(3_600)
    await world.workflow.recover()

    noticed = {(await world.proposal(proposal_id)).attention for proposal_id in ids}
    assert noticed == {Attention.OUTCOME_UNKNOWN}


async def test_an_agent_may_report_although_its_tool_is_gone(world: World) -> None:
    proposal_id = await begun(world)
    tools = {n: t for n, t in world.workflow.policy.tools.items() if n != REFUNDS}
    await world.adopts(tools=tools)

    reply = await world.workflow.report(proposal_id, world.sender("leila"), "done", {"n": 1})

    assert reply.done
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


async def test_a_restart_leaves_an_agent_its_time_to_report(world: World) -> None:
    proposal_id = await begun(world)

    await world.restarts()
    waits = await world.proposal(proposal_id)
    await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    assert waits.attention is None
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


async def test_a_receipt_is_taken_once(world: World) -> None:
    proposal_id = await begun(world)
    await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    again = await world.workflow.report(proposal_id, world.sender("leila"), "failed", {})

    assert again.code == "permit_already_consumed"
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


@pytest.mark.parametrize("outcome", ["done", "failed"])
async def test_a_report_before_anything_began_uses_up_no_permit(world: World, outcome: str) -> None:
    """It was told that its permit was used up, and never to try again."""
    proposal_id = await permitted(world)

    early = await world.workflow.report(proposal_id, world.sender("leila"), outcome, {})
    await begun_after(world)

    assert early.code == "nothing_to_settle"
    assert "redeem its permit" in early.words
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_a_report_of_what_ended_before_it_began_is_told_how_it_ended(world: World) -> None:
    proposal_id = await permitted(world)
    await world.rejects("ana", proposal_id, "not today")

    reply = await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    assert reply.code == "already_decided"
    assert "not today" in reply.words


@pytest.mark.parametrize(
    ("approved", "after_ms", "code", "ended"),
    [
        (False, -1, "nothing_to_settle", "redeem its permit"),
        (False, 0, "already_decided", "(expired)"),
        (True, -1, "nothing_to_settle", "redeem its permit"),
        (True, 0, "already_decided", "(permit_expired)"),
    ],
)
async def test_a_report_past_the_deadline_is_told_of_its_end_before_any_sweep(
    world: World, approved: bool, after_ms: int, code: str, ended: str
) -> None:
    """It was told to redeem a permit that it never had, or that had expired."""
    proposal_id = await permitted(world) if approved else ""
    proposal_id = proposal_id or (await world.submits(REFUND)).proposal_id or ""
    deadline_ms = (await world.proposal(proposal_id)).deadline_ms
    world.clock.set(deadline_ms + after_ms)

    reply = await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    assert (reply.code, ended in reply.words) == (code, True)


async def test_a_receipt_of_any_size_and_shape_ends_the_waiting(world: World) -> None:
    proposal_id = await begun(world)

    reply = await world.workflow.report(
        proposal_id,
        world.sender("leila"),
        "done",
        {"rows": ["x" * 1000] * 200, "bad": float("nan")},
    )

    ended = await world.proposal(proposal_id)
    assert reply.done
    assert (ended.state, ended.attention) == (State.COMPLETED, None)
    assert ended.execution is not None
    assert (ended.execution.receipt or {})["receipt_left_out"]["bytes"] > 200_000


async def test_what_an_agent_did_beyond_its_envelope_is_a_persons_to_look_at(
    world: World,
) -> None:
    """Nobody of ours takes back what an agent did, whatever its tool has become since."""
    envelope = {
        "allowed_side_effects": ["payment"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    proposal_id = await permitted(world, risk_envelope=envelope)
    await begun_after(world)
    tools = dict(world.workflow.policy.tools)
    ours = replace(tools[REFUNDS], kind=ToolKind.COMMAND, deferred=True, reversible=True)
    await world.adopts(tools=tools | {REFUNDS: ours})

    reply = await world.workflow.report(
        proposal_id, world.sender("leila"), "done", {"affected_records": 5}
    )
    again = await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    told = await world.proposal(proposal_id)
    assert reply.done
    assert (told.state, told.attention) == (State.COMPLETED, Attention.ENVELOPE_EXCEEDED)
    assert again.code == "permit_already_consumed"
    assert told.attention_why.endswith(f"then: settle {proposal_id} happened")


async def test_what_contradicts_a_persons_word_is_kept_and_told_once(world: World) -> None:
    proposal_id = await begun(world)
    await world.passes(minutes=61)
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=False)

    reply = await world.workflow.report(proposal_id, world.sender("leila"), "done", {"id": "pay_7"})
    again = await world.workflow.report(proposal_id, world.sender("leila"), "done", {"id": "pay_7"})

    (entry,) = await world.audit("late_receipt")
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    told = [m for m in messages if "now reports that it did" in str(m.body.get("text"))]
    assert (reply.code, again.code) == ("already_decided", "permit_already_consumed")
    assert entry["details"]["result"]["value"] == {"id": "pay_7"}
    assert len(told) == 1
    assert (await world.proposal(proposal_id)).reason == "did_not_happen"


async def test_an_agent_reports_what_it_executed_and_no_roll_back(world: World) -> None:
    proposal_id = await begun(world)

    def taking_back(tx: Transaction) -> None:
        seen = tx.proposals.get(proposal_id)
        assert seen is not None
        assert seen.execution is not None
        changed = replace(seen.execution, verb=Verb.ROLL_BACK)
        tx.proposals.save(seen.but(execution=changed, version=seen.version + 1), seen)

    await world.store.write(taking_back)
    reply = await world.workflow.report(proposal_id, world.sender("leila"), "done", {})

    assert reply.code == "permit_mismatch"
    assert (await world.proposal(proposal_id)).state is State.EXECUTING
