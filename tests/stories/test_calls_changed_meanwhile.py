"""A new config changes how a tool is called while what it staged waits for its commit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Policy, ToolKind
from lifecycle.ports import Call, ToolDoubtful
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.world import Law
from tests.builders import MAIL
from tests.fakes.tools import raising
from tests.roads import adopted, trail_of
from tests.stories.forging import problems
from tests.world import World, an_unhurried_sentinel

SEND = "send-email"
OTHER = {"smtp": {"host": "mail.elsewhere.example", "port": 25, "from": "agents@shop.example"}}


async def is_called_otherwise(world: World, settings: dict[str, Any]) -> dict[str, Any]:
    """Put other settings of the mail tool in force; return those of before."""
    tools = dict(world.workflow.policy.tools)
    before = dict(tools[SEND].settings)
    await world.adopts(tools=tools | {SEND: replace(tools[SEND], settings=settings)})
    return before


@pytest.fixture
async def staged(world: World) -> World:
    """A world in which ana approved a mail, which waits as a draft."""
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    return world


async def test_what_was_approved_for_one_way_out_leaves_by_no_other_without_a_person(
    staged: World,
) -> None:
    await is_called_otherwise(staged, OTHER)
    await staged.passes(minutes=16)

    held = await staged.proposal("p1")
    assert (held.state, held.attention) == (State.EXECUTING, Attention.COMMIT_FAILED)
    assert "new config" in held.attention_why
    assert staged.tool(SEND).verbs() == ["execute"]
    assert await problems(staged) == []

    assert (await staged.workflow.retry("p1", staged.sender("ben"))).done
    await staged.workflow.idle()

    assert (await staged.proposal("p1")).state is State.COMPLETED
    assert staged.tool(SEND).verbs() == ["execute", "commit"]
    assert await problems(staged) == []


async def test_what_would_leave_by_another_way_can_be_taken_back(staged: World) -> None:
    await is_called_otherwise(staged, OTHER)
    await staged.passes(minutes=16)

    assert (await staged.rejects("ana", "p1")).done

    assert (await staged.proposal("p1")).state is State.ROLLED_BACK
    assert staged.tool(SEND).verbs() == ["execute", "roll_back"]
    assert await problems(staged) == []


async def test_where_the_config_is_as_it_was_when_the_window_closes_nobody_is_asked(
    staged: World,
) -> None:
    before = await is_called_otherwise(staged, OTHER)
    await is_called_otherwise(staged, before)
    await staged.passes(minutes=16)

    assert (await staged.proposal("p1")).state is State.COMPLETED
    assert staged.tool(SEND).verbs() == ["execute", "commit"]


async def test_a_commit_that_was_claimed_is_not_made_by_a_config_that_came_since(
    staged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, real = staged.workflow.world, staged.store.write
    policy = world.law.policy
    tools = policy.tools | {SEND: replace(policy.tools[SEND], settings=OTHER)}
    law = replace(world.law, policy=replace(policy, digest="pol1_" + "b" * 64, tools=tools))

    async def write(unit: Any) -> Any:
        written = await real(unit)
        if "commit_claimed" in await staged.trail("p1"):
            world.law = law  # the claim is on disk, the call not yet made
        return written

    monkeypatch.setattr(staged.store, "write", write)
    await staged.passes(minutes=16)

    assert (await staged.proposal("p1")).attention is Attention.COMMIT_FAILED
    assert staged.tool(SEND).verbs() == ["execute"]


async def test_a_commit_is_not_made_by_a_tool_that_is_blocked_while_the_trail_is_read(
    staged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, write_of_store, read_of_store = (
        staged.workflow.world,
        staged.store.write,
        staged.store.read,
    )
    policy, sentinel = world.law.policy, world.law.sentinel
    blocked = policy.tools | {SEND: replace(policy.tools[SEND], tier=Tier.BLOCK)}
    coming = [
        Law(replace(policy, digest="pol1_" + "b" * 64), sentinel),
        Law(replace(policy, digest="pol1_" + "c" * 64, tools=blocked), sentinel),
    ]

    async def write(unit: Any) -> Any:
        written = await write_of_store(unit)
        trail = await read_of_store(lambda tx: trail_of(tx, "p1"))
        if len(coming) == 2 and any(each.event.kind == "commit_claimed" for each in trail):
            world.law = coming.pop(0)  # the claim is on disk, the call not yet made
        return written

    async def read(view: Any) -> Any:
        found = await read_of_store(view)
        if len(coming) == 1:
            world.law = coming.pop()
        return found

    monkeypatch.setattr(staged.store, "write", write)
    monkeypatch.setattr(staged.store, "read", read)
    await staged.passes(minutes=16)

    assert (await staged.proposal("p1")).attention is Attention.COMMIT_FAILED
    assert staged.tool(SEND).verbs() == ["execute"]


@pytest.mark.parametrize(
    ("back", "verbs"),
    [(True, ["execute", "execute"]), (False, ["execute", "execute", "commit"])],
)
async def test_what_a_person_had_begun_anew_is_committed_by_that_config_alone(
    world: World, back: bool, verbs: list[str]
) -> None:
    world.tool(SEND).on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    before = await is_called_otherwise(world, OTHER)
    world.tool(SEND).on.clear()
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()

    if back:
        await is_called_otherwise(world, before)
    await world.passes(minutes=16)
    await world.passes(seconds=1)  # first it is judged by the policy that came while in doubt

    ended = await world.proposal("p1")
    assert (ended.attention is Attention.COMMIT_FAILED) is back
    assert (ended.state is State.COMPLETED) is not back
    assert world.tool(SEND).verbs() == verbs
    assert await problems(world) == []


AT_ONCE: dict[str, Any] = {
    "kind": ToolKind.COMMAND,
    "deferred": False,
    "settings": {"execute": ["send"]},
}


async def becomes(world: World, **settings: Any) -> Policy:
    """Put other settings of the mail tool in force; return the policy of before."""
    before = world.workflow.policy
    await world.adopts(
        tools={**before.tools, SEND: replace(before.tools[SEND], **settings)},
    )
    return before


async def is_again(world: World, policy: Policy) -> None:
    """Put a policy of before in force once more, with its digest."""
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
    await world.workflow.idle()


async def begun_anew(world: World, **settings: Any) -> Policy:
    """A mail whose first call was cut off, begun anew for ben by other settings; return the policy
    of before."""
    world.tool(SEND).on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    before = await becomes(world, **settings)
    world.tool(SEND).on.clear()
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()
    return before


@pytest.mark.parametrize("back", [True, False])
async def test_what_was_begun_anew_by_a_tool_that_acts_at_once_is_not_sent_once_more(
    world: World, back: bool
) -> None:
    before = await begun_anew(world, **AT_ONCE)
    if back:
        await is_again(world, before)
    await world.passes(minutes=16)
    await world.passes(seconds=1)

    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(SEND).verbs() == ["execute", "execute"]
    assert await problems(world) == []


async def test_what_was_begun_anew_by_a_tool_that_only_stages_is_committed(world: World) -> None:
    mail = world.workflow.policy.tools[SEND]
    await becomes(world, **AT_ONCE)
    await begun_anew(world, kind=mail.kind, deferred=True, settings=mail.settings)
    await world.passes(minutes=16)
    await world.passes(seconds=1)

    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(SEND).verbs() == ["execute", "execute", "commit"]
    assert await problems(world) == []


async def test_a_commit_is_not_called_by_a_tool_that_has_none(staged: World) -> None:
    before = await becomes(staged, **AT_ONCE)
    await staged.passes(minutes=16)

    reply = await staged.workflow.retry("p1", staged.sender("ben"))
    await staged.workflow.idle()

    assert (reply.done, reply.code) == (False, "tool_mismatch")
    assert (await staged.proposal("p1")).attention is Attention.COMMIT_FAILED
    assert staged.tool(SEND).verbs() == ["execute"]

    await is_again(staged, before)
    assert (await staged.workflow.retry("p1", staged.sender("ben"))).done
    await staged.workflow.idle()
    assert staged.tool(SEND).verbs() == ["execute", "commit"]
    assert await problems(staged) == []


@pytest.mark.parametrize("verb", ["execute", "commit"])
async def test_what_a_person_had_called_by_another_config_is_not_repeated_by_the_one_of_before(
    world: World, verb: str
) -> None:
    tool, called = world.tool(SEND), asyncio.Event()
    await becomes(world, idempotent=True)
    tool.on[verb] = raising(ToolDoubtful("cut off"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=16 if verb == "commit" else 0)
    before = await becomes(world, settings=OTHER)

    async def hangs(_call: Call) -> dict[str, Any]:
        called.set()
        await asyncio.Event().wait()
        return {}

    tool.on[verb] = hangs
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    async with asyncio.timeout(30):
        await called.wait()
    made, left = tool.verbs(), world.workflow.world.background
    tool.on.clear()
    world.workflow.world.law = Law(before, an_unhurried_sentinel(before))
    await world.restarts()  # the process ended in the call, and its config was put back
    await world.passes(seconds=40)

    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    assert tool.verbs() == made
    assert await problems(world) == []
    for task in left.tasks:
        task.cancel()
