"""A new policy, new evidence: what is open is judged again, approvals and permits included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import ApprovalClass, Level, RuleSettings
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, REFUND, UNSEEN
from tests.world import World

TOOL = "production-deploy"

HOUR_S = 3600


def tools(world: World, name: str, **changes: Any) -> dict[str, Any]:
    known = dict(world.workflow.policy.tools)
    return known | {name: replace(known[name], **changes)}


async def test_where_the_quorum_changed_approvals_are_void(world: World) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.adopts(
        tools=tools(world, TOOL, quorum_class=ApprovalClass.THRESHOLD, quorum_required=3)
    )

    await world.approves("ben", proposal_id)

    reviews = await world.store.read(lambda tx: tx.reviews.of(proposal_id))
    assert [review.void_why for review in reviews] == ["the policy changed", None]
    assert world.tool(TOOL).calls == []


async def test_where_sentinel_finds_something_else_approvals_are_void(world: World) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    before = await world.proposal(proposal_id)
    rules = {**world.workflow.policy.rules}
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["broken checkout"]})

    await world.adopts(rules=rules)

    after = await world.proposal(proposal_id)
    assert (after.tier, after.quorum) == (before.tier, before.quorum), "only what was found differs"
    reviews = await world.store.read(lambda tx: tx.reviews.of(proposal_id))
    assert [review.void_why for review in reviews] == ["the policy changed"]
    await world.approves("ben", proposal_id, "seen as it is now")
    assert world.tool(TOOL).verbs() == []


async def test_a_proposal_judged_under_an_old_policy_gets_the_tier_of_the_new(
    world: World,
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.adopts(tools=tools(world, "send-email", tier=Tier.CONFIRM))

    assert (await world.proposal(proposal_id)).tier is Tier.CONFIRM


async def test_a_new_hard_rule_rejects_what_waits_and_takes_back_what_is_open(
    world: World,
) -> None:
    waits = (await world.submits(MAIL)).proposal_id or ""
    other = {"to": "sam@partner.example", "subject": "Invoice 2848", "body": "Hello"}
    in_window = (await world.submits(MAIL, parameters=other)).proposal_id or ""
    await world.approves("ana", in_window)
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.HARD, {"phrases": ["hello"]})
    await world.adopts(rules=rules)

    rejected, taken = await world.proposal(waits), await world.proposal(in_window)
    assert (rejected.state, rejected.reason) == (State.REJECTED, "prohibited_content")
    assert (taken.state, taken.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


async def test_an_unrelated_change_disturbs_nothing(world: World) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.adopts(tools=tools(world, "search", timeout_s=11))

    await world.approves("ben", proposal_id)

    assert world.tool(TOOL).verbs() == ["execute"]


async def approved_by_one(world: World, **changes: Any) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual", **changes)
    await world.approves("ana", "p1")


@pytest.mark.parametrize("level", [Level.SOFT, Level.ADVISORY])
async def test_how_hard_a_rule_is_that_found_nothing_voids_no_approval(
    world: World, level: Level
) -> None:
    await approved_by_one(world)
    rules = dict(world.workflow.policy.rules)
    other = replace(rules["secrets_absent"], level=level)
    await world.adopts(rules=rules | {"secrets_absent": other})

    await world.approves("ben", "p1")

    assert world.tool(TOOL).verbs() == ["execute"]


async def test_what_waits_for_its_hours_keeps_its_approvals_over_a_new_policy(
    world: World,
) -> None:
    await approved_by_one(world)
    world.clock.advance(8 * HOUR_S)  # nine in the evening, there
    await world.adopts(tools=tools(world, "search", timeout_s=11))
    await world.approves("ben", "p1")
    assert (await world.proposal("p1")).waiting_for == "outside_hours"
    await world.adopts(tools=tools(world, "search", timeout_s=12))

    await world.passes(minutes=11 * 60)

    assert world.tool(TOOL).verbs() == ["execute"]


async def test_what_false_evidence_ends_is_told_so_although_it_also_waited_for_its_hours(
    world: World,
) -> None:
    await record(world, world.sender("crm-sensor"), allowed=True)
    condition = {"field": "allowed", "operator": "eq", "value": True, "evidence_ref": "e1"}
    await approved_by_one(world, preconditions=[condition])
    world.clock.advance(8 * HOUR_S)
    await world.adopts(tools=tools(world, "search", timeout_s=11))
    world.clock.advance(12 * HOUR_S)  # the next morning

    await record(world, world.sender("crm-sensor"), allowed=False)

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "preconditions_hold")
    assert "hours" not in ended.explanation


async def test_an_approval_outlives_that_its_evidence_aged(world: World) -> None:
    await record(world, world.sender("crm-sensor"), allowed=True)
    condition = {"field": "allowed", "operator": "eq", "value": True, "evidence_ref": "e1"}
    await approved_by_one(world, preconditions=[condition])
    world.clock.advance(480)
    await world.adopts(tools=tools(world, "search", timeout_s=11))

    await record(world, world.sender("crm-sensor"), allowed=True)
    await world.approves("ben", "p1")

    assert world.tool(TOOL).verbs() == ["execute"]


async def test_a_soft_finding_asks_people_for_a_reason(world: World) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["invoice"]})
    await world.adopts(
        rules=rules, orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE})
    )
    answer = await world.submits(MAIL)
    assert (answer.state, answer.tier) == ("sentinel_approved", "CONFIRM")

    refused = await world.approves("ana", answer.proposal_id or "")
    assert refused.code == "reason_required"
    await world.approves("ana", answer.proposal_id or "", "it is an invoice that Pat asked for")

    mail = await world.proposal(answer.proposal_id or "")
    assert mail.execution is not None
    assert mail.execution.windowed
    assert world.tool("send-email").verbs() == ["execute"]


@pytest.mark.parametrize("reason", UNSEEN)
async def test_a_reason_that_nobody_can_see_is_none(world: World, reason: str) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["invoice"]})
    await world.adopts(rules=rules)
    await world.submits(MAIL, proposal_id="p1")

    assert (await world.approves("ana", "p1", reason)).code == "reason_required"
    assert world.tool("send-email").calls == []
    assert (await world.approves("ana", "p1", f"{reason}Pat asked for it")).done


async def the_permits(world: World) -> list[str]:
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [m.body["permit"] for m in messages if m.kind == "permit"]


async def test_taking_back_an_approval_revokes_a_permit_not_yet_redeemed(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    (permit,) = await the_permits(world)
    await world.workflow.take_back(proposal_id, world.sender("ana"))

    reply = await world.workflow.redeem(permit, REFUND["parameters"], world.sender("leila"))

    assert reply.code == "permit_mismatch"
    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED
    await world.approves("ben", proposal_id)
    fresh = (await the_permits(world))[-1]
    begun = await world.workflow.redeem(fresh, REFUND["parameters"], world.sender("leila"))
    assert begun.done


async def test_a_new_policy_gives_a_waiting_permit_anew(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    (old,) = await the_permits(world)
    await world.adopts(tools=tools(world, "search", timeout_s=11))

    permits = await the_permits(world)
    refused = await world.workflow.redeem(old, REFUND["parameters"], world.sender("leila"))
    begun = await world.workflow.redeem(permits[-1], REFUND["parameters"], world.sender("leila"))

    assert len(permits) == 2
    assert refused.code == "permit_mismatch"
    assert begun.done


@pytest.mark.parametrize("value", [True, False])
async def test_evidence_that_changes_inside_a_window_takes_back(world: World, value: bool) -> None:
    sensor = world.sender("crm-sensor")
    await record(world, sensor, allowed=True)
    condition = {
        "field": "allowed",
        "operator": "eq",
        "value": True,
        "evidence_ref": "e1",
    }
    proposal_id = (await world.submits(MAIL, preconditions=[condition])).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.clock.advance(1)
    await record(world, sensor, allowed=value)
    await world.workflow.idle()

    state = (await world.proposal(proposal_id)).state
    assert state is (State.EXECUTING if value else State.ROLLED_BACK)


async def test_a_window_is_not_rolled_back_because_its_evidence_merely_aged(world: World) -> None:
    await record(world, world.sender("crm-sensor"), allowed=True)
    condition = {"field": "allowed", "operator": "eq", "value": True, "evidence_ref": "e1"}
    proposal_id = (await world.submits(MAIL, preconditions=[condition])).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.clock.advance(480)
    rules = dict(world.workflow.policy.rules)
    settings = dict(rules["preconditions_hold"].settings) | {"freshness_s": 301}
    await world.adopts(rules=rules | {"preconditions_hold": RuleSettings(Level.HARD, settings)})

    stands = await world.proposal(proposal_id)
    assert stands.state is State.EXECUTING
    assert stands.checked_policy_digest == world.workflow.policy.digest


async def record(world: World, sensor: Any, *, allowed: bool) -> None:
    import json

    packet = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": world.clock.now_ms(),
        "payload": {"allowed": allowed},
    }
    reply = await world.workflow.record_evidence(json.dumps(packet).encode(), sensor)
    assert reply.done, reply.words


async def test_nothing_begins_while_the_process_is_stopping(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    world.workflow.world.ending = True

    reply = await world.approves("ana", proposal_id)

    assert world.tool(TOOL).calls == []
    assert "next start" in reply.words
