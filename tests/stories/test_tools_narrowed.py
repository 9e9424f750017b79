"""A new policy asks more of a tool's documents: what waits is held to it, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import ActionType, Agent, ToolKind
from lifecycle.ports import ToolDoubtful
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD, REFUND, a_document, digest_value, the_agents
from tests.fakes.tools import raising
from tests.stories.doubtful import SEND, UNREACHED
from tests.stories.forging import problems
from tests.world import World

TOOL = "production-deploy"
WIDE = {"type": "object", "properties": {"version": {"type": "string"}}}
NARROW = {"type": "object", "properties": {"version": {"const": "v1"}}}


async def changes(world: World, name: str, **settings: Any) -> None:
    """Put a policy in force in which one tool has other settings."""
    tools = dict(world.workflow.policy.tools)
    await world.adopts(tools=tools | {name: replace(tools[name], **settings)})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"parameters": NARROW}, "parameters.version"),
        ({"match": {"domain": "blog.shop.example"}}, "target.domain"),
        ({"match": {"resource_type": "blog"}}, "target.resource_type"),
        ({"action_type": ActionType.WRITE}, "action_type"),
    ],
)
async def test_what_its_tool_takes_no_more_does_not_begin_on_approvals_of_before(
    world: World, settings: dict[str, Any], words: str
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.approves("ana", "p1")

    await changes(world, TOOL, **settings)
    await world.approves("ben", "p1")

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert words in ended.explanation
    assert world.tool(TOOL).calls == []
    assert await problems(world) == []


async def test_what_its_tool_still_takes_keeps_its_approvals(world: World) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.approves("ana", "p1")

    await changes(world, TOOL, parameters=WIDE, match={"domain": "www.shop.example"})
    await world.approves("ben", "p1")

    assert world.tool(TOOL).verbs() == ["execute"]


async def test_a_permit_is_taken_back_where_its_tool_takes_the_call_no_more(world: World) -> None:
    await world.submits(REFUND, proposal_id="p1")
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).permit_waits
    permit = await world.store.read(lambda tx: tx.permits.of("p1", "execute", 1))

    await changes(world, "issue-refund", parameters={"type": "object", "maxProperties": 0})
    assert permit is not None
    parameters = a_document(REFUND)["parameters"]
    reply = await world.workflow.redeem(permit.token, parameters, world.sender("leila"))

    assert not reply.done
    assert (await world.proposal("p1")).reason == "policy_changed"


async def test_a_digest_is_handed_to_no_tool_that_acts_on_the_value_itself(world: World) -> None:
    parameters = a_document(REFUND)["parameters"] | {"letter": digest_value("Dear Pat, " * 50)}
    await world.submits(REFUND, proposal_id="p1", parameters=parameters)

    await changes(world, "issue-refund", kind=ToolKind.COMMAND, settings={"execute": ["pay"]})
    await world.approves("ana", "p1")

    assert (await world.proposal("p1")).reason == "policy_changed"
    assert world.tool("issue-refund").calls == []


async def test_what_was_asked_only_if_it_can_be_taken_back_begins_by_no_tool_that_cannot(
    world: World,
) -> None:
    await changes(world, "issue-refund", kind=ToolKind.PYTHON, reversible=True)
    asked = {"kind": "compensated"}
    await world.submits(REFUND, proposal_id="p1", rollback_semantics=asked)
    others = a_document(REFUND)["parameters"] | {"amount": "1.50"}
    await world.submits(REFUND, proposal_id="p2", parameters=others)

    await changes(world, "issue-refund", reversible=False)

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert "rollback_semantics.kind" in ended.explanation
    assert (await world.proposal("p2")).state is State.SENTINEL_APPROVED


async def test_a_person_has_nothing_called_again_that_its_tool_takes_no_more(world: World) -> None:
    world.tool(TOOL).on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")

    await changes(world, TOOL, parameters=NARROW)
    reply = await world.workflow.retry("p1", world.sender("ben"))
    await world.workflow.idle()

    assert (reply.done, reply.code) == (False, "invalid_parameter")
    assert "parameters.version" in reply.words
    assert world.tool(TOOL).verbs() == ["execute"]


@pytest.mark.parametrize(
    ("agents", "code"),
    [
        ({}, "unknown_agent"),
        ({"leila": replace(the_agents()["leila"], roles=frozenset({"reader"}))}, "missing_role"),
    ],
)
async def test_a_person_has_nothing_called_again_for_a_proposer_who_may_not_ask_any_more(
    world: World, agents: dict[str, Agent], code: str
) -> None:
    world.tool(TOOL).on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")
    before = world.workflow.policy.agents

    await world.adopts(agents=agents)
    reply = await world.workflow.retry("p1", world.sender("ben"))
    await world.workflow.idle()

    assert (reply.done, reply.code) == (False, code)
    assert "settle p1" in reply.words
    assert world.tool(TOOL).verbs() == ["execute"]
    assert await problems(world) == []

    await world.adopts(agents=before)
    assert (await world.workflow.retry("p1", world.sender("ben"))).done


@pytest.mark.parametrize(
    "change",
    [
        {"tools": {"parameters": NARROW}},
        {"tools": {"match": {"domain": "elsewhere.example"}}},
        {"agents": {}},
        {"agents": {"leila": replace(the_agents()["leila"], roles=frozenset({"reader"}))}},
    ],
)
async def test_what_was_staged_is_committed_for_a_person_whatever_its_tool_takes_by_now(
    world: World, change: dict[str, Any]
) -> None:
    """It was begun as people approved it; whoever wants it no more rolls it back."""
    world.tool(SEND).on["commit"] = raising(UNREACHED)
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=16)
    assert (await world.proposal("p1")).attention is Attention.COMMIT_FAILED
    world.tool(SEND).on.clear()

    await changes(world, SEND, **change.get("tools", {}))
    await world.adopts(**{name: value for name, value in change.items() if name == "agents"})
    reply = await world.workflow.retry("p1", world.sender("ben"))
    await world.workflow.idle()

    assert reply.done, reply.words
    assert world.tool(SEND).verbs() == ["execute", "commit", "commit"]
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert await problems(world) == []
