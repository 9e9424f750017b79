"""A process ends at the worst moment: nothing is lost, doubled or forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import answering, waiting_for
from tests.world import World

TOOL = "production-deploy"


async def dies_in(world: World, verb: str, name: str) -> None:
    """Let the process die while `name` is called for `verb`: the call never answers."""
    world.tool(name).on[verb] = waiting_for(asyncio.Event())


async def forget_calls(world: World) -> None:
    """Drop the calls of the process that died."""
    tasks = list(world.workflow.world.background.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_call_cut_off_is_never_repeated_by_itself(world: World) -> None:
    await dies_in(world, "execute", TOOL)
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await asyncio.sleep(0)
    await forget_calls(world)

    await world.restarts()

    stuck = await world.proposal(proposal_id)
    assert world.tool(TOOL).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert f"{proposal_id}:execute:1" in stuck.attention_why


async def test_an_idempotent_call_is_repeated_under_the_same_key_twice_at_most(
    world: World,
) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[TOOL] = replace(tools[TOOL], idempotent=True)
    await world.adopts(tools=tools)
    await dies_in(world, "execute", TOOL)
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    for _ in range(4):
        await asyncio.sleep(0)
        await forget_calls(world)
        old = world.workflow.world
        world.workflow = type(world.workflow)(replace(old, held=set()))
        await world.workflow.start()

    keys = {call.idempotency_key for call in world.tool(TOOL).calls}
    assert keys == {f"{proposal_id}:execute:1"}
    assert len(world.tool(TOOL).calls) == 3
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_call_that_began_in_time_is_repeated_after_its_time(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[TOOL] = replace(tools[TOOL], idempotent=True)
    await world.adopts(tools=tools)
    await dies_in(world, "execute", TOOL)
    now_ms = world.clock.now_ms()
    window = {
        "valid_from_ms": now_ms,
        "valid_until_ms": now_ms + 600_000,
        "max_duration_ms": 30_000,
    }
    proposal_id = (await world.submits(PROD, time_window=window)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await asyncio.sleep(0)
    await forget_calls(world)

    world.clock.advance(11 * 60)
    del world.tool(TOOL).on["execute"]
    await world.restarts()
    await world.workflow.idle()

    assert world.tool(TOOL).verbs() == ["execute", "execute"]
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


async def test_a_window_survives_and_closes_once_at_its_time(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    closes = (await world.proposal(proposal_id)).execution
    await world.restarts()
    assert (await world.proposal(proposal_id)).execution == closes

    await world.passes(minutes=15)
    await world.passes(minutes=15)

    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_a_window_that_passed_while_we_were_away_closes_late_and_says_so(
    world: World,
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.clock.advance(35 * 60)
    await world.restarts()
    await world.keeps_house()

    ended = await world.proposal(proposal_id)
    assert ended.state is State.COMPLETED
    assert "Closed late, 20 min" in ended.explanation
    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_a_commit_cut_off_is_unknown_and_settled_by_a_person(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await dies_in(world, "commit", "send-email")
    world.clock.advance(900)
    await world.workflow.close_due()
    await asyncio.sleep(0)
    await forget_calls(world)
    await world.restarts()
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)

    sent = await world.proposal(proposal_id)
    assert (sent.state, sent.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_a_cross_kept_while_unknown_is_carried_out_once_it_is_known(world: World) -> None:
    await dies_in(world, "execute", "send-email")
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await asyncio.sleep(0)
    await forget_calls(world)
    await world.restarts()
    await world.rejects("ben", proposal_id, "take it back")
    assert world.tool("send-email").verbs() == ["execute"]

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await world.proposal(proposal_id)).explanation == "take it back"


async def test_what_waits_for_people_is_untouched_by_restarts(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    for _ in range(3):
        await world.restarts()
    await world.approves("ana", proposal_id)

    assert world.tool("send-email").verbs() == ["execute"]
    assert (await world.trail(proposal_id)).count("execute") == 1


async def test_nothing_runs_without_approval_whatever_happens(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    for _ in range(12):
        await world.passes(minutes=60)
        await world.restarts()
    await world.passes(minutes=13 * 60)

    ended = await world.proposal(proposal_id)
    assert world.tool(TOOL).calls == []
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")


async def test_a_pending_proposal_nobody_judged_is_judged_after_the_start(world: World) -> None:
    from lifecycle.proposal import Proposal

    proposal_id = (await world.submits(PROD)).proposal_id or ""
    judged = await world.proposal(proposal_id)
    unjudged: Proposal = replace(
        judged, proposal_id="p-left", state=State.PENDING, verdict=None, content_digest="sha256:x"
    )
    await world.store.write(lambda tx: tx.proposals.add(unjudged))
    world.clock.advance(10)
    await world.restarts()

    assert (await world.proposal("p-left")).state is not State.PENDING


async def test_a_new_policy_found_at_the_start_is_applied_to_what_is_open(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    tools = dict(world.workflow.policy.tools)
    tools[TOOL] = replace(tools[TOOL], tier=Tier.BLOCK)
    await world.adopts(tools=tools)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")


async def test_an_auto_call_answers_with_its_end(world: World) -> None:
    search = {
        "proposal_id": "s1",
        "ts_ms": world.clock.now_ms(),
        "actor": "leila",
        "tool": "search",
        "action_type": "read",
        "target": {
            "resource_type": "docs",
            "resource_id": "handbook",
            "domain": "shop.example",
            "constraints": {},
        },
        "parameters": {"query": "refunds"},
    }
    world.tool("search").on["execute"] = answering({"rows": [{"title": "Refunds"}]})

    answer = await world.submits(search)

    assert (answer.state, answer.reason) == ("completed", "tool_succeeded")
    assert answer.result is not None
    waiting = await world.store.read(
        lambda tx: tx.outbox.waiting("terminal", world.clock.now_ms() + 60_000, 10)
    )
    assert [m for m in waiting if m.kind == "ended"] == []
