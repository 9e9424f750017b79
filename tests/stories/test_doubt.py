"""What nobody knows stays unknown until a person says so, whatever a later call answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import answering, raising, waiting_for
from tests.stories.hearing import heard
from tests.stories.test_restart import dies_in, forget_calls
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
UNREACHED = ToolFailed("the other side could not be reached")


async def dies_while(world: World, name: str, document: Mapping[str, Any]) -> str:
    """Approve what an idempotent tool does, and end the process in the middle of it."""
    tools = dict(world.workflow.policy.tools)
    await world.adopts(tools=tools | {name: replace(tools[name], idempotent=True)})
    await dies_in(world, "execute", name)
    proposal_id = (await world.submits(document)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await asyncio.sleep(0)
    assert world.tool(name).verbs() == ["execute"]
    await forget_calls(world)
    return proposal_id


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


async def test_a_retry_that_failed_leaves_the_first_attempt_unknown(world: World) -> None:
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.tool(DEPLOY).on["execute"] = raising(UNREACHED)

    await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    stuck = await world.proposal(proposal_id)
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=False)
    assert (await world.proposal(proposal_id)).reason == "did_not_happen"


async def test_who_looks_after_a_second_call_is_told_that_the_first_may_have_happened(
    world: World,
) -> None:
    proposal_id = await unknown_deployment(world)
    first = (await world.proposal(proposal_id)).attention_why
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))

    await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    second = (await world.proposal(proposal_id)).attention_why
    key = f"{proposal_id}:execute"
    assert f"Whether execute of {key}:1 happened is unknown" in first
    assert f"Whether execute of {key}:2, or of an attempt before it, happened is unknown" in second


async def test_a_mail_that_may_be_out_is_not_called_unsent(world: World, mail: str) -> None:
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.passes(minutes=15)
    world.tool(SEND).on["commit"] = raising(UNREACHED)

    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert (await world.proposal(mail)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_commit_that_is_known_to_have_failed_may_fail_again(
    world: World, mail: str
) -> None:
    world.tool(SEND).on["commit"] = raising(UNREACHED)
    await world.passes(minutes=15)

    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert (await world.proposal(mail)).attention is Attention.COMMIT_FAILED


async def test_one_retry_commits_again_over_an_approval_that_was_taken_off_and_is_not_worked(
    world: World, mail: str
) -> None:
    """That holds nothing up which has begun; the first retry let go of it, and of nothing else."""
    world.tool(SEND).on["commit"] = raising(UNREACHED)
    await world.passes(minutes=15)
    await heard(world, proposal_id=mail, takes_back=True)
    world.clock.advance(61)
    world.tool(SEND).on["commit"] = answering({})

    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert (await world.proposal(mail)).state is State.COMPLETED


async def test_a_retry_over_a_cross_that_nobody_could_work_lets_go_of_that_alone(
    world: World, mail: str
) -> None:
    world.tool(SEND).on["commit"] = raising(UNREACHED)
    await world.passes(minutes=15)
    await heard(world, proposal_id=mail)
    world.clock.advance(61)
    world.tool(SEND).on["commit"] = answering({})

    reply = await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert reply.done
    assert (await world.proposal(mail)).attention is Attention.COMMIT_FAILED


async def test_what_a_person_settled_is_no_doubt_any_more(world: World, mail: str) -> None:
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.passes(minutes=15)
    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    world.tool(SEND).on["commit"] = raising(UNREACHED)

    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()
    assert (await world.proposal(mail)).attention is Attention.COMMIT_FAILED
    world.tool(SEND).on["commit"] = answering({})
    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert (await world.proposal(mail)).state is State.COMPLETED


@pytest.mark.parametrize("at", ["running", "unknown"])
async def test_a_blocked_tool_is_never_called_to_act_again(world: World, at: str) -> None:
    proposal_id = await dies_while(world, DEPLOY, PROD)
    if at == "unknown":
        world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
        await world.restarts()
    calls = len(world.tool(DEPLOY).calls)
    tools = dict(world.workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], tier=Tier.BLOCK)
    await world.adopts(tools=tools)

    await world.restarts()
    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    assert not reply.done
    assert len(world.tool(DEPLOY).calls) == calls
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


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
    await world.workflow.adopt(policy, world.workflow.world.law.sentinel)
    gate.set()
    await world.workflow.idle()

    ended = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")


async def unknown_deployment(world: World, **changes: object) -> str:
    """Return the id of a deployment of which nobody knows whether it happened."""
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD, **changes)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.tool(DEPLOY).on.clear()
    return proposal_id


def meanwhile(world: World, act: Callable[[], Awaitable[object]]) -> None:
    """Let something happen while it is read whether the person still is a member."""
    real, happened = world.notifier.lost_members, list[bool]()

    async def lost_members(people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        if not happened:
            happened.append(True)
            await act()
        return await real(people, surely=surely)

    world.notifier.lost_members = lost_members  # type: ignore[method-assign]


async def test_a_retry_is_judged_by_the_policy_in_force_when_it_begins(world: World) -> None:
    proposal_id = await unknown_deployment(world)
    rules = dict(world.workflow.policy.rules)
    narrower = {"targets": {DEPLOY: ["other.example"], "staging-deploy": ["other.example"]}}
    rules["deploy_target_allowed"] = replace(rules["deploy_target_allowed"], settings=narrower)
    meanwhile(world, lambda: world.adopts(rules=rules))

    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    assert reply.code == "deploy_target_allowed"
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_retry_is_judged_by_the_evidence_on_record_when_it_begins(world: World) -> None:
    await world.observes(True)
    precondition = {"evidence_ref": "e1", "field": "ok", "operator": "eq", "value": True}
    proposal_id = await unknown_deployment(world, preconditions=[precondition])
    meanwhile(world, lambda: world.observes(False))

    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    assert reply.code == "preconditions_hold"
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_who_has_left_neither_settles_nor_retries(world: World) -> None:
    proposal_id = await unknown_deployment(world)
    world.notifier.lost = frozenset({"ben"})

    retried = await world.workflow.retry(proposal_id, world.sender("ben"))
    settled = await world.workflow.settle(proposal_id, world.sender("ben"), happened=True)

    assert (retried.code, settled.code) == ("not_a_reviewer", "not_a_reviewer")
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN
    assert world.tool(DEPLOY).verbs() == ["execute"]


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


async def test_what_is_done_by_a_retry_can_be_taken_back_for_a_whole_window(world: World) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.passes(minutes=20)
    world.tool(SEND).on.clear()

    await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()
    await world.passes(minutes=14, seconds=59)
    assert world.tool(SEND).verbs() == ["execute", "execute"]

    assert (await world.rejects("ben", proposal_id)).done
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK


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
