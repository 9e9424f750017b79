"""Cases F through the whole law: neither the proposer nor the orchestrator chooses the risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Level
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.world import World

LOW = {
    "allowed_side_effects": ["deploy"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}


def open_for(world: World, seconds: float) -> dict[str, int]:
    now_ms = world.clock.now_ms()
    return {
        "valid_from_ms": now_ms,
        "valid_until_ms": now_ms + round(seconds * 1000),
        "max_duration_ms": 1000,
    }


async def test_F03_1_a_tier_of_its_own_is_an_unknown_field(world: World) -> None:
    answer = await world.submits(PROD, tier="AUTO")

    assert (answer.reason, answer.state) == ("unknown_field", None)


async def test_F03_2_modesty_and_a_short_window_never_open_the_gate(world: World) -> None:
    harmless: dict[str, Any] = {"approval_class": "none", "risk_envelope": LOW}
    answer = await world.submits(PROD, proposal_id="p1", time_window=open_for(world, 1), **harmless)
    assert (answer.state, answer.tier) == ("sentinel_approved", "CONFIRM")

    await world.passes(seconds=1)

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")
    assert world.tool("production-deploy").calls == []


async def test_F03_2_a_window_that_is_over_when_the_quorum_is_reached_opens_nothing(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="p1", time_window=open_for(world, 60))
    await world.workflow.freeze("look first", world.sender("ana"))
    await world.approves("ben", "p1")
    world.clock.advance(60)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    assert (await world.proposal("p1")).reason == "expired"
    assert world.tool("production-deploy").calls == []


async def by_hand(world: World) -> None:
    """Let nour approve by hand only."""
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset())


async def test_F10_a_mail_that_passed_is_opened_in_the_orchestrators_name(world: World) -> None:
    await by_hand(world)
    await world.submits(MAIL, proposal_id="p1")

    reply = await world.approves("nour", "p1")

    opened = await world.proposal("p1")
    assert reply.done
    assert (opened.state, str(opened.opener)) == (State.EXECUTING, "agent nour")
    assert opened.execution is not None
    assert opened.execution.windowed


@pytest.mark.parametrize("automatic", [False, True])
async def test_F10_a_mail_that_failed_stays_rejected(world: World, automatic: bool) -> None:
    await by_hand(world)
    if automatic:
        await world.adopts(auto_approval_tiers=frozenset({Tier.PROPOSE}))
    wrong = MAIL["parameters"] | {"body": "This is your final warning"}
    await world.submits(MAIL, proposal_id="p1", parameters=wrong)

    reply = await world.approves("nour", "p1")

    assert reply.code == "already_decided"
    assert (await world.proposal("p1")).reason == "prohibited_content"
    assert world.tool("send-email").calls == []


@pytest.mark.parametrize("automatic", [False, True])
async def test_F10_what_needs_people_is_not_auto_approvable(roomy: World, automatic: bool) -> None:
    await by_hand(roomy)
    if automatic:
        await roomy.adopts(auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await roomy.submits(PROD, proposal_id="p1")
    await roomy.submits(MAIL, proposal_id="p2", approval_class="single")
    await roomy.submits(MAIL, proposal_id="p3", by="nour")

    codes = [(await roomy.approves("nour", each)).code for each in ("p1", "p2", "p3")]

    assert codes == ["not_auto_approvable", "not_auto_approvable", "own_proposal"]
    assert all(not tool.calls for tool in roomy.toolbox.tools.values())


async def test_F10_a_soft_finding_takes_it_out_of_the_orchestrators_hands(world: World) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = replace(rules["prohibited_content"], level=Level.SOFT)
    await world.adopts(
        orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}), rules=rules
    )
    doubtful = MAIL["parameters"] | {"body": "This is your final warning"}
    answer = await world.submits(MAIL, proposal_id="p1", parameters=doubtful)
    assert (answer.state, answer.tier) == ("sentinel_approved", "CONFIRM")

    assert (await world.approves("nour", "p1")).code == "not_auto_approvable"
    assert (await world.approves("ana", "p1")).code == "reason_required"
    assert world.tool("send-email").calls == []
    assert (await world.approves("ana", "p1", "It quotes the customer")).done
