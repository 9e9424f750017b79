"""Who may have a call made again that the config calls otherwise than when people approved it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import ToolDoubtful
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising
from tests.world import World

OTHERWISE: dict[str, Any] = {"settings": {"url": "https://elsewhere.example"}}


async def _by_ana(world: World, base: dict[str, Any], *, changed: bool) -> str:
    """Let ana propose and ben approve what then waits for a retry; return the tool's name."""
    tool = base["tool"]
    policy = world.workflow.policy
    ana = policy.people["ana"]
    roles = frozenset({"reader", "writer", "admin"})
    await world.adopts(people={**policy.people, "ana": replace(ana, roles=roles)})
    if base is PROD:
        world.tool(tool).on["execute"] = raising(ToolDoubtful("cut off"))
    else:
        world.tool(tool).on["commit"] = raising(ToolDoubtful("cut off"))
    await world.submits(base, by="ana", proposal_id="p1")
    await world.approves("ben", "p1")
    await world.passes(minutes=16)
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    if changed:
        tools = world.workflow.policy.tools
        await world.adopts(tools={**tools, tool: replace(tools[tool], **OTHERWISE)})
    world.tool(tool).on.clear()
    world.tool(tool).calls.clear()
    return str(tool)


@pytest.mark.parametrize("base", [PROD, MAIL], ids=["execute", "commit"])
async def test_nobody_lets_their_own_proposal_go_in_another_way_than_it_was_approved(
    world: World, base: dict[str, Any]
) -> None:
    tool = await _by_ana(world, base, changed=True)

    reply = await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()

    assert (reply.done, reply.code) == (False, "own_proposal")
    assert world.tool(tool).verbs() == []

    assert (await world.workflow.retry("p1", world.sender("dee"))).done
    await world.workflow.idle()
    assert (await world.proposal("p1")).state is State.COMPLETED


@pytest.mark.parametrize("base", [PROD, MAIL], ids=["execute", "commit"])
async def test_what_is_called_as_it_was_approved_its_proposer_may_have_called_again(
    world: World, base: dict[str, Any]
) -> None:
    await _by_ana(world, base, changed=False)

    assert (await world.workflow.retry("p1", world.sender("ana"))).done
    await world.workflow.idle()
    assert (await world.proposal("p1")).state is State.COMPLETED


@pytest.mark.parametrize("solo", [False, True])
async def test_the_owner_of_an_agent_lets_nothing_go_otherwise_unless_they_are_alone(
    world: World, solo: bool
) -> None:
    policy = world.workflow.policy
    olga = replace(policy.people["olga"], groups=frozenset({"approvers"}))
    await world.adopts(people={**policy.people, "olga": olga}, solo_operator=solo)
    world.tool("send-email").on["commit"] = raising(ToolDoubtful("cut off"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ben", "p1")
    await world.passes(minutes=16)
    tools = world.workflow.policy.tools
    await world.adopts(tools={**tools, "send-email": replace(tools["send-email"], **OTHERWISE)})

    reply = await world.workflow.retry("p1", world.sender("olga"))

    assert (reply.done, reply.code) == ((True, None) if solo else (False, "owner_of_agent"))
