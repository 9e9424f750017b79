"""What a tool answered counts for the call that it answers, and for all that it says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.calls.calling import CallResult
from lifecycle.calls.concluding import conclude
from lifecycle.proposal import Attention, Outcome, Verb
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.fakes.tools import answering, raising, waiting_for
from tests.stories.doubtful import SEND, UNREACHED
from tests.world import World

ENVELOPE = {
    "allowed_side_effects": ["email", "deploy"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}


@pytest.mark.parametrize(
    "other",
    [
        {"verb": Verb.EXECUTE},
        {"verb": Verb.ROLL_BACK},
        {"attempt": 2},
        {"tries": 2},
    ],
)
@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.FAILED, Outcome.UNKNOWN])
async def test_what_another_call_was_answered_late_says_nothing_of_the_commit_under_way(
    world: World, mail: str, other: Mapping[str, Any], outcome: Outcome
) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["commit"] = waiting_for(gate)
    world.clock.advance(900)
    await world.workflow.close_due()
    running = await world.proposal(mail)
    assert running.execution is not None
    assert (running.execution.verb, running.execution.outcome) == (Verb.COMMIT, Outcome.RUNNING)
    late = replace(running.execution, **other)
    moment = world.workflow.world.moment()

    await world.store.write(
        lambda tx: conclude(tx, moment, running, late, CallResult(outcome, {"id": "late"}))
    )

    assert await world.proposal(mail) == running
    gate.set()
    await world.workflow.idle()
    assert (await world.proposal(mail)).reason == "window_closed_unopposed"


async def test_a_roll_back_that_failed_after_one_in_doubt_left_standing_what_was_done(
    world: World, mail: str
) -> None:
    world.tool(SEND).on["roll_back"] = raising(RuntimeError("cut off"))
    await world.rejects("ana", mail)
    assert (await world.proposal(mail)).attention is Attention.OUTCOME_UNKNOWN
    world.tool(SEND).on["roll_back"] = raising(UNREACHED)

    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    stands = await world.proposal(mail)
    assert (stands.state, stands.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)


@pytest.mark.parametrize(
    ("tier", "window_s", "deferred"),
    [(Tier.PROPOSE, 900, False), (Tier.PROPOSE, 900, True), (Tier.CONFIRM, None, True)],
)
async def test_what_goes_beyond_its_envelope_is_taken_back_wherever_that_can_be(
    world: World, tier: Tier, window_s: int | None, deferred: bool
) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[SEND] = replace(tools[SEND], tier=tier, window_s=window_s, deferred=deferred)
    await world.adopts(tools=tools)
    world.tool(SEND).on["execute"] = answering({"affected_records": 2})
    proposal_id = (await world.submits(MAIL, risk_envelope=ENVELOPE)).proposal_id or ""

    await world.approves("ana", proposal_id)

    taken = await world.proposal(proposal_id)
    assert (taken.state, taken.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_what_a_commit_did_beyond_its_envelope_is_told_with_what_settles_it(
    world: World,
) -> None:
    world.tool(SEND).on["commit"] = answering({"affected_records": 2})
    proposal_id = (await world.submits(MAIL, risk_envelope=ENVELOPE)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.passes(minutes=15)

    sent = await world.proposal(proposal_id)
    assert (sent.state, sent.attention) == (State.COMPLETED, Attention.ENVELOPE_EXCEEDED)
    assert sent.attention_why.startswith("The tool went beyond the envelope: it reports 2 affected")
    assert sent.attention_why.endswith(f"then: settle {proposal_id} happened")


@pytest.mark.parametrize(
    ("committed", "shown"), [({"sent": "yes"}, {"sent": "yes"}), ({}, {"draft": "1"})]
)
async def test_an_agent_is_shown_what_the_commit_answered_where_it_answered_anything(
    world: World, committed: Mapping[str, Any], shown: Mapping[str, Any]
) -> None:
    world.tool(SEND).on |= {"execute": answering({"draft": "1"}), "commit": answering(committed)}
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)

    await world.passes(minutes=15)

    ended = await world.proposal(proposal_id)
    assert ended.state is State.COMPLETED
    assert ended.frame is not None
    assert str(shown) in str(ended.frame)


async def test_a_stage_that_waits_for_its_commit_keeps_the_end_of_its_window(
    world: World, mail: str
) -> None:
    ends = (await world.proposal(mail)).execution
    assert ends is not None
    await world.workflow.freeze("a look first", world.sender("ana"))
    for _ in range(3):
        await world.passes(minutes=6)

    waits = await world.proposal(mail)
    assert waits.execution is not None
    assert waits.execution.window_closes_at_ms == ends.window_closes_at_ms


async def test_what_needs_a_person_is_announced_once_however_long_it_does(
    world: World, mail: str
) -> None:
    world.tool(SEND).on["roll_back"] = raising(RuntimeError("cut off"))
    await world.rejects("ana", mail)
    for _ in range(3):
        await world.passes(minutes=10)

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    calls = [message for message in told if f"{mail} (send-email) needs a" in str(message.body)]
    assert [message.kind for message in calls] == ["announcement"]
