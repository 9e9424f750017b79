"""What nobody knows stays unknown until a person says so, whatever a later call answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising, waiting_for
from tests.roads import adopted
from tests.stories.doubtful import DEPLOY, SEND, UNREACHED, dies_while
from tests.stories.forging import problems
from tests.stories.hearing import cut_off
from tests.world import World


async def test_a_repeat_that_never_arrived_says_nothing_about_the_call_before_it(
    world: World,
) -> None:
    proposal_id = await dies_while(world, DEPLOY, PROD)
    world.tool(DEPLOY).on["execute"] = raising(UNREACHED)

    await world.restarts()

    stuck = await world.proposal(proposal_id)
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)


async def test_an_agent_hears_why_nobody_knows_what_became_of_its_call(world: World) -> None:
    world.tool("search").on["execute"] = raising(RuntimeError("cut off"))
    document = {"tool": "search", "action_type": "read", "parameters": {"query": "terms"}}

    answer = await world.submits(MAIL, **document)

    assert (answer.state, (answer.execution or {})["outcome"]) == ("executing", "unknown")
    assert answer.explanation == (
        "search ended with RuntimeError; what it did is not known. "
        "A person has to look (outcome_unknown)."
    )


async def test_whoever_stops_what_has_no_window_and_is_in_doubt_is_told_to_settle_it(
    world: World,
) -> None:
    """They heard that nothing can be taken back, and not that nobody knows whether it was done."""
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")

    reply = await world.workflow.reject("p1", world.sender("ben"), "no")

    assert reply.code == "window_closed"
    assert "settle p1 happened | did-not-happen" in reply.words


async def test_once_a_person_has_settled_it_nobody_is_told_of_the_doubt(world: World) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    assert "not known" in (await world.proposal(proposal_id)).attention_why

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)

    settled = await world.proposal(proposal_id)
    assert (settled.state, settled.attention, settled.attention_why) == (State.EXECUTING, None, "")
    assert "not known" not in (await world.approves("ben", proposal_id)).words


async def test_a_repeat_that_a_person_has_settled_is_committed_and_agrees_with_its_trail(
    world: World,
) -> None:
    await cut_off(world)
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off again"))
    await world.restarts()
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN

    await world.workflow.settle("p1", world.sender("ana"), happened=True)

    assert await problems(world) == []
    await world.passes(minutes=16)
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(SEND).verbs()[-1] == "commit"


async def test_what_a_blocked_tool_has_staged_is_taken_back(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[SEND] = replace(tools[SEND], tier=Tier.CONFIRM, window_s=0)
    await world.adopts(tools=tools)
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    tools[SEND] = replace(tools[SEND], tier=Tier.BLOCK)
    policy = replace(world.workflow.policy, tools=tools, digest="pol1_" + "b" * 64)
    await adopted(world.workflow, policy, world.workflow.world.law.sentinel)
    gate.set()
    await world.workflow.idle()

    ended = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")


async def test_what_a_person_took_back_by_hand_is_settled(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.tool(SEND).on["roll_back"] = raising(ToolFailed("it has left"))
    await world.rejects("ben", proposal_id, "wrong address")
    stuck = await world.proposal(proposal_id)

    nothing_new = await world.workflow.settle(proposal_id, world.sender("ana"), happened=False)
    settled = await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)

    ended = await world.proposal(proposal_id)
    assert stuck.attention is Attention.ROLLBACK_INCOMPLETE
    assert nothing_new.code == "nothing_to_settle"
    assert settled.done
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_person")
    assert ended.decided_by is not None
    assert ended.decided_by.id == "ben"


async def test_under_another_policy_an_idempotent_call_is_not_repeated_by_itself(
    world: World,
) -> None:
    """What the tool calls, what the rules allow and who may ask is not what it began under."""
    proposal_id = await dies_while(world, DEPLOY, PROD)
    world.tool(DEPLOY).on.clear()
    law = world.workflow.world.law
    world.workflow.world.law = replace(law, policy=replace(law.policy, digest="pol1_" + "e" * 64))

    await world.restarts()
    await world.keeps_house()

    stuck = await world.proposal(proposal_id)
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert "the policy is another one since" in stuck.attention_why


async def test_what_is_called_again_after_an_outage_has_its_window_from_then_on(
    world: World,
) -> None:
    proposal_id = await dies_while(world, SEND, MAIL)
    world.tool(SEND).on.clear()
    world.clock.advance(20 * 60)

    await world.restarts()
    await world.passes(minutes=14)

    assert world.tool(SEND).verbs() == ["execute", "execute"]
    assert (await world.proposal(proposal_id)).state is State.EXECUTING
