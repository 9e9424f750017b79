"""A new config changes how a tool is called while what it staged waits for its commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import ToolDoubtful
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.world import World

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
