"""Cases I10, K01 and K02: a process dies between the intent and the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import waiting_for
from tests.world import World

DEPLOY = "production-deploy"


async def dies(world: World) -> None:
    """End everything that this process was doing, then start again."""
    await asyncio.sleep(0.01)
    tasks = list(world.workflow.world.background.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for tool in world.toolbox.tools.values():
        tool.on.clear()
    await world.restarts()


async def dies_in_execute(world: World, **tool_changes: object) -> None:
    """Approve p1, let the tool act, and die before its answer is stored."""
    if tool_changes:
        tools = dict(world.workflow.policy.tools)
        tools[DEPLOY] = replace(tools[DEPLOY], **tool_changes)
        await world.adopts(tools=tools)
    world.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    await world.submits(PROD, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    await dies(world)


async def test_K01_what_was_cut_off_is_not_run_again_and_needs_a_person(world: World) -> None:
    await dies_in_execute(world)

    for _ in range(3):
        await world.restarts()
    stuck = await world.proposal("p1")
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert "p1:execute:1" in stuck.attention_why
    assert (await world.approves("ben", "p1")).code == "already_decided"
    assert world.tool(DEPLOY).verbs() == ["execute"]


@pytest.mark.parametrize("verb", ["commit", "roll_back"])
async def test_K01_a_commit_or_roll_back_that_was_cut_off_is_not_made_again(
    world: World, verb: str
) -> None:
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    world.tool("send-email").on[verb] = waiting_for(asyncio.Event())
    if verb == "commit":
        world.clock.advance(900)
        await world.workflow.close_due()
    else:
        await world.workflow.reject("p1", world.sender("ben"), "no")
    await dies(world)
    await world.passes(minutes=30)

    assert world.tool("send-email").verbs() == ["execute", verb]
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN


@pytest.mark.parametrize(
    ("happened", "state", "reason"),
    [
        (True, State.COMPLETED, "tool_succeeded"),
        (False, State.ROLLED_BACK, "did_not_happen"),
    ],
)
async def test_I10_a_reviewer_settles_what_is_unknown(
    world: World, happened: bool, state: State, reason: str
) -> None:
    await dies_in_execute(world)
    assert (await world.workflow.settle("p1", world.sender("cal"), happened)).code == (
        "not_a_reviewer"
    )

    assert (await world.workflow.settle("p1", world.sender("ana"), happened)).done
    ended = await world.proposal("p1")
    assert (ended.state, ended.reason, ended.attention) == (state, reason, None)
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_I10_a_reviewer_retries_under_a_key_of_its_own(world: World) -> None:
    await dies_in_execute(world)

    await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()

    assert [call.idempotency_key for call in world.tool(DEPLOY).calls] == [
        "p1:execute:1",
        "p1:execute:2",
    ]
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_I10_what_is_idempotent_is_called_once_more_under_the_same_key(
    world: World,
) -> None:
    await dies_in_execute(world, idempotent=True)

    calls = world.tool(DEPLOY).calls
    assert [call.idempotency_key for call in calls] == ["p1:execute:1"] * 2
    assert len({call.permit for call in calls}) == 2
    assert (await world.proposal("p1")).state is State.COMPLETED


@pytest.mark.parametrize(
    ("happened", "verbs", "reason"),
    [
        (True, ["execute", "roll_back"], "rolled_back_by_person"),
        (False, ["execute"], "did_not_happen"),
    ],
)
async def test_I10_what_somebody_has_stopped_is_not_done_again_in_order_to_be_taken_back(
    world: World, happened: bool, verbs: list[str], reason: str
) -> None:
    tools = dict(world.workflow.policy.tools)
    tools["send-email"] = replace(tools["send-email"], idempotent=True)
    await world.adopts(tools=tools)
    world.tool("send-email").on["execute"] = waiting_for(asyncio.Event())
    await world.submits(MAIL, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    await asyncio.sleep(0)
    assert (await world.workflow.reject("p1", world.sender("ben"), "stop that")).done
    await dies(world)

    stuck = await world.proposal("p1")
    assert world.tool("send-email").verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert "ben has stopped it" in stuck.attention_why
    assert (await world.workflow.settle("p1", world.sender("ana"), happened)).done
    await world.workflow.idle()
    assert world.tool("send-email").verbs() == verbs
    assert (await world.proposal("p1")).reason == reason


async def test_I10_a_time_window_bounds_the_start_not_what_is_taken_up_again(
    world: World,
) -> None:
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 60_000, "max_duration_ms": 1000}
    tools = dict(world.workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], idempotent=True)
    await world.adopts(tools=tools)
    world.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    await world.submits(PROD, proposal_id="p1", time_window=window)
    await world.workflow.approve("p1", world.sender("ana"))
    world.clock.advance(3600)
    await dies(world)

    assert world.tool(DEPLOY).verbs() == ["execute"] * 2
    assert (await world.proposal("p1")).state is State.COMPLETED


async def test_I10_what_may_have_happened_is_never_called_failed(world: World) -> None:
    """The time in which it could begin is over before a repeat: that says nothing about the first,
    which alone has to be looked for."""
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 60_000, "max_duration_ms": 1000}
    world.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    await world.submits(PROD, proposal_id="p1", time_window=window)
    await world.workflow.approve("p1", world.sender("ana"))
    world.clock.advance(3600)
    await dies(world)

    reply = await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()

    stuck = await world.proposal("p1")
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert reply.code == "permit_expired"
    assert "It had to begin before 2026-03-02 12:01" in reply.words
    assert "Whether execute of p1:execute:1 happened" in stuck.attention_why


async def test_K02_three_restarts_while_it_waits_double_nothing(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1", task_id="t1")
    for _ in range(3):
        await world.restarts()
    await world.approves("ana", "p1")
    for _ in range(3):
        await world.restarts()
    await world.passes(minutes=15)

    assert world.tool("send-email").verbs() == ["execute", "commit"]
    card = await world.store.read(lambda tx: tx.cards.get("p1", "terminal"))
    assert card is not None
    assert len(card.message_ids) == 1
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [m.key for m in told if m.proposal_id == "p1"] == ["end:p1"]


async def test_K02_three_restarts_double_no_window_that_opened_by_itself(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL, proposal_id="p1")
    for _ in range(3):
        await world.restarts()

    assert world.tool("send-email").verbs() == ["execute"]
