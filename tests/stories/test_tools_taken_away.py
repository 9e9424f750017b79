"""A tool leaves the config while its call is in question: what people are told to do helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.policy import ToolPolicy
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.fakes.tools import raising
from tests.world import World

SEND = "send-email"


async def is_taken_away(world: World) -> ToolPolicy:
    """Put a config in force without the mail tool; return the tool as it was."""
    tools = dict(world.workflow.policy.tools)
    before = tools.pop(SEND)
    await world.adopts(tools=tools)
    return before


async def is_back(world: World, tool: ToolPolicy) -> None:
    await world.adopts(tools=world.workflow.policy.tools | {SEND: tool})


@pytest.fixture
async def uncommitted(world: World) -> World:
    """A world in which a mail could not be sent when its window closed."""
    world.tool(SEND).on["commit"] = raising(ToolFailed("the server refused it"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=16)
    assert (await world.proposal("p1")).attention is Attention.COMMIT_FAILED
    del world.tool(SEND).on["commit"]
    return world


async def test_a_roll_back_without_its_tool_says_what_a_retry_needs(uncommitted: World) -> None:
    before = await is_taken_away(uncommitted)
    await uncommitted.rejects("ana", "p1")
    held = await uncommitted.proposal("p1")
    assert held.attention is Attention.ROLLBACK_INCOMPLETE
    assert "put it back into the config before a retry" in held.attention_why

    await is_back(uncommitted, before)
    assert (await uncommitted.workflow.retry("p1", uncommitted.sender("ana"))).done
    await uncommitted.workflow.idle()
    assert (await uncommitted.proposal("p1")).state is State.ROLLED_BACK


async def test_a_commit_without_its_tool_is_refused_with_what_helps(uncommitted: World) -> None:
    before = await is_taken_away(uncommitted)
    refused = await uncommitted.workflow.retry("p1", uncommitted.sender("ana"))
    assert refused.code == "tool_blocked"
    assert "Put it back into the config, then: retry p1, or roll-back p1 <reason>" in refused.words

    await is_back(uncommitted, before)
    assert (await uncommitted.workflow.retry("p1", uncommitted.sender("ana"))).done
    await uncommitted.workflow.idle()
    assert (await uncommitted.proposal("p1")).state is State.COMPLETED


async def test_a_commit_of_a_blocked_tool_is_refused_with_what_helps(uncommitted: World) -> None:
    tool = uncommitted.workflow.policy.tools[SEND]
    await is_back(uncommitted, replace(tool, tier=Tier.BLOCK))
    refused = await uncommitted.workflow.retry("p1", uncommitted.sender("ana"))
    assert refused.code == "tool_blocked"
    assert refused.words.endswith("roll-back p1 <reason>")

    assert (await uncommitted.rejects("ana", "p1", "not now")).done
    assert (await uncommitted.proposal("p1")).state is State.ROLLED_BACK


async def test_an_execution_in_doubt_without_its_tool_is_refused_with_what_helps(
    world: World,
) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("the line was cut"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await is_taken_away(world)
    refused = await world.workflow.retry("p1", world.sender("ana"))
    assert refused.code == "tool_blocked"
    assert "settle p1 happened | did-not-happen" in refused.words

    assert (await world.workflow.settle("p1", world.sender("ana"), happened=False)).done
    assert (await world.proposal("p1")).state is State.ROLLED_BACK
