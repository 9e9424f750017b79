"""A new config calls a tool otherwise while what it did can still be taken back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Policy, ToolKind
from lifecycle.ports import Call, ToolDoubtful, ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.world import Law
from tests.builders import PROD
from tests.fakes.tools import raising
from tests.roads import adopted, trail_of
from tests.stories.forging import problems
from tests.world import World, an_unhurried_sentinel

TOOL = "staging-deploy"
DEPLOYMENT = PROD | {
    "tool": TOOL,
    "target": PROD["target"] | {"domain": "staging.shop.example"},
}
ELSEWHERE: dict[str, Any] = {"settings": {"execute": ["elsewhere"], "roll_back": ["elsewhere"]}}


async def becomes(world: World, **changes: Any) -> Policy:
    """Put another config of the tool in force; return the policy of before."""
    before = world.workflow.policy
    await world.adopts(tools={**before.tools, TOOL: replace(before.tools[TOOL], **changes)})
    return before


@pytest.fixture
async def deployed(world: World) -> World:
    """A world in which ana approved a deployment, which is done and inside its window."""
    await world.submits(DEPLOYMENT, proposal_id="p1")
    await world.approves("ana", "p1")
    assert world.tool(TOOL).verbs() == ["execute"]
    return world


async def _waits_for_people(world: World) -> None:
    held = await world.proposal("p1")
    assert (held.state, held.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    assert "new config" in held.attention_why
    assert "retry p1" in held.attention_why
    assert world.tool(TOOL).verbs() == ["execute"]
    assert await problems(world) == []


@pytest.mark.parametrize("other", [ELSEWHERE, {"kind": ToolKind.WEBHOOK}], ids=["program", "kind"])
async def test_what_was_done_one_way_is_taken_back_no_other_without_a_person(
    deployed: World, other: dict[str, Any]
) -> None:
    await becomes(deployed, **other)

    assert (await deployed.rejects("ben", "p1")).done
    await _waits_for_people(deployed)

    assert (await deployed.workflow.retry("p1", deployed.sender("ben"))).done
    await deployed.workflow.idle()

    assert (await deployed.proposal("p1")).state is State.ROLLED_BACK
    assert deployed.tool(TOOL).verbs() == ["execute", "roll_back"]
    assert await problems(deployed) == []


async def test_what_is_stopped_while_it_is_done_is_taken_back_no_other_way(world: World) -> None:
    tool, called, answers = world.tool(TOOL), asyncio.Event(), asyncio.Event()

    async def answers_late(_call: Call) -> dict[str, Any]:
        called.set()
        await answers.wait()
        return {}

    tool.on["execute"] = answers_late
    await world.submits(DEPLOYMENT, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"), "")
    async with asyncio.timeout(30):
        await called.wait()
    assert (await world.workflow.reject("p1", world.sender("ben"), "no")).done
    policy = world.workflow.policy
    other = {**policy.tools, TOOL: replace(policy.tools[TOOL], **ELSEWHERE)}
    policy = replace(policy, digest="pol1_" + "b" * 64, tools=other)
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))

    answers.set()
    await world.workflow.idle()

    await _waits_for_people(world)


async def test_where_the_config_is_as_it_was_it_is_taken_back_at_once(deployed: World) -> None:
    before = await becomes(deployed, **ELSEWHERE)
    await becomes(deployed, settings=before.tools[TOOL].settings)

    await deployed.rejects("ben", "p1")

    assert (await deployed.proposal("p1")).state is State.ROLLED_BACK


async def test_what_changes_how_a_tool_is_governed_and_not_how_it_is_called_holds_nothing_up(
    deployed: World,
) -> None:
    await becomes(deployed, timeout_s=99, idempotent=True, reviewers="operators")

    await deployed.rejects("ana", "p1")

    assert (await deployed.proposal("p1")).state is State.ROLLED_BACK


async def test_a_tool_that_is_blocked_takes_back_what_it_did(deployed: World) -> None:
    await becomes(deployed, tier=Tier.BLOCK)

    assert (await deployed.proposal("p1")).state is State.ROLLED_BACK
    assert deployed.tool(TOOL).verbs() == ["execute", "roll_back"]


async def test_what_a_person_has_taken_back_by_a_new_config_is_not_by_the_one_after_that(
    deployed: World,
) -> None:
    tool = deployed.tool(TOOL)
    await becomes(deployed, **ELSEWHERE)
    await deployed.rejects("ben", "p1")
    tool.on["roll_back"] = raising(ToolFailed("busy"))
    await deployed.workflow.retry("p1", deployed.sender("ben"))
    await deployed.workflow.idle()
    assert tool.verbs() == ["execute", "roll_back"]

    tool.on.clear()
    assert (await deployed.workflow.retry("p1", deployed.sender("ana"))).done
    await deployed.workflow.idle()

    assert (await deployed.proposal("p1")).state is State.ROLLED_BACK
    assert await problems(deployed) == []


async def test_a_roll_back_that_was_cut_off_is_not_repeated_by_another_config(
    world: World,
) -> None:
    tool, called = world.tool(TOOL), asyncio.Event()
    await becomes(world, idempotent=True)
    await world.submits(DEPLOYMENT, proposal_id="p1")
    await world.approves("ana", "p1")

    async def hangs(_call: Call) -> dict[str, Any]:
        called.set()
        await asyncio.Event().wait()
        return {}

    tool.on["roll_back"] = hangs
    await world.workflow.reject("p1", world.sender("ben"), "no")
    async with asyncio.timeout(30):
        await called.wait()
    left = world.workflow.world.background
    tool.on.clear()
    policy = world.workflow.policy
    other = {**policy.tools, TOOL: replace(policy.tools[TOOL], **ELSEWHERE)}
    policy = replace(policy, digest="pol1_" + "b" * 64, tools=other)
    world.workflow.world.law = Law(policy, an_unhurried_sentinel(policy))
    await world.restarts()  # the process ended in the call, and its config was changed
    await world.passes(seconds=40)

    held = await world.proposal("p1")
    assert (held.state, held.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert tool.verbs() == ["execute", "roll_back"]
    assert await problems(world) == []
    for task in left.tasks:
        task.cancel()


async def test_what_was_approved_with_a_window_is_not_done_anew_by_a_tool_that_takes_nothing_back(
    world: World,
) -> None:
    tool = world.tool(TOOL)
    await becomes(world, tier=Tier.CONFIRM, window_s=900)
    tool.on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(DEPLOYMENT, proposal_id="p1")
    await world.approves("ana", "p1")
    before = await becomes(world, window_s=None, reversible=False)
    tool.on.clear()

    reply = await world.workflow.retry("p1", world.sender("ben"))
    await world.workflow.idle()

    assert (reply.done, reply.code) == (False, "rollback_not_available")
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    assert tool.verbs() == ["execute"]

    await world.adopts(tools=before.tools)
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()
    assert tool.verbs() == ["execute", "execute"]
    assert await problems(world) == []


@pytest.mark.parametrize("reads", [1, 2])
async def test_nothing_is_taken_back_by_a_config_that_comes_while_the_trail_is_read(
    deployed: World, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """After the last reading nobody asked it: it took back something else."""
    world, read_of_store, left = deployed.workflow.world, deployed.store.read, reads
    policy = world.law.policy
    tools = policy.tools | {TOOL: replace(policy.tools[TOOL], **ELSEWHERE)}
    new = replace(world.law, policy=replace(policy, digest="pol1_" + "b" * 64, tools=tools))

    async def read(view: Any) -> Any:
        nonlocal left
        found = await read_of_store(view)
        trail = await read_of_store(lambda tx: trail_of(tx, "p1"))
        if left and any(each.event.kind == "roll_back_claimed" for each in trail):
            left -= 1
            world.law = world.law if left else new
        return found

    monkeypatch.setattr(deployed.store, "read", read)
    assert (await deployed.rejects("ben", "p1")).done

    held = await deployed.proposal("p1")
    assert (held.state, held.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    assert deployed.tool(TOOL).verbs() == ["execute"]
