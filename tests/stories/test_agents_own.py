"""Tools that agents carry out themselves: a permit, its redemption, and no way around."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import Level, RuleSettings
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.verdict import PASSED
from lifecycle.world import Law
from sentinel_rules import load_rules
from tests.builders import REFUND, digest_value
from tests.lifecycle.laws import FOUND, law
from tests.stories.permits import REFUNDS, begun, begun_after, permitted, the_permit
from tests.world import World, an_unhurried_sentinel

HOURS = {"zone": "UTC", "days": ["mon"], "from": "08:00", "to": "12:30"}
KEPT_HOURS = {"change_window_open": {"freezes": [], "hours": {REFUNDS: HOURS}}}
NO_HOURS: dict[str, Any] = {"change_window_open": {"freezes": [], "hours": {}}}
FORBIDS = {"prohibited_content": {"phrases": ["order"]}}


def with_settings(world: World, settings: dict[str, Any]) -> dict[str, RuleSettings]:
    changed = {rule: RuleSettings(Level.HARD, each) for rule, each in settings.items()}
    return {**world.workflow.policy.rules, **changed}


async def test_what_an_agent_carries_out_itself_is_tried_again_by_the_agent_alone(
    world: World,
) -> None:
    proposal_id = await begun(world)
    await world.passes(minutes=61)

    reply = await world.workflow.retry(proposal_id, world.sender("ana"))

    assert reply.code == "permit_already_consumed"
    assert "proposes it again" in reply.words
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_nobody_else_reports_or_redeems(world: World) -> None:
    await permitted(world)
    stolen = await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"], world.sender("nour")
    )
    proposal_id = await begun_after(world)

    forged = await world.workflow.report(proposal_id, world.sender("nour"), "done", {})

    assert (stolen.code, forged.code) == ("permit_mismatch", "permit_mismatch")
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_outside_the_hours_a_redemption_waits(world: World) -> None:
    await world.adopts(rules=with_settings(world, KEPT_HOURS))
    proposal_id = await permitted(world)
    world.clock.advance(45 * 60)

    reply = await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"], world.sender("leila")
    )

    assert reply.code == "outside_hours"
    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED


@pytest.mark.parametrize(
    ("mistaken", "minutes", "code"),
    [
        (NO_HOURS, 45, "outside_hours"),
        (FORBIDS, 0, None),
    ],
)
async def test_at_a_redemption_no_policy_counts_that_was_in_force_for_a_moment(
    world: World,
    mistaken: dict[str, Any],
    minutes: int,
    code: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A refund began outside its hours; another was rejected by a policy that allows it."""
    await world.adopts(rules=with_settings(world, KEPT_HOURS))
    await permitted(world)
    world.clock.advance(minutes * 60)
    meant, check = world.workflow.policy, Gatekeeper.check
    mistake = replace(meant, digest="pol1_" + "4" * 64, rules=with_settings(world, mistaken))

    async def overtaken(gatekeeper: Gatekeeper, *asked: Any, **how: Any) -> Any:
        monkeypatch.setattr(Gatekeeper, "check", check)
        await world.workflow.put_in_force(mistake, an_unhurried_sentinel(mistake), lambda: None)
        try:
            return await check(gatekeeper, *asked, **how)
        finally:
            await world.workflow.put_in_force(meant, an_unhurried_sentinel(meant), lambda: None)

    monkeypatch.setattr(Gatekeeper, "check", overtaken)
    permit, leila = await the_permit(world), world.sender("leila")
    reply = await world.workflow.redeem(permit, REFUND["parameters"], leila)

    assert reply.code == code


async def test_a_rule_that_is_late_at_a_redemption_costs_neither_permit_nor_proposal(
    world: World,
) -> None:
    proposal_id, policy, over = await permitted(world), world.workflow.policy, Event()
    late = law("late", lambda: (over.wait(60), PASSED)[1])
    fair = Sentinel(load_rules(policy.rules))
    permit, leila = await the_permit(world), world.sender("leila")
    world.workflow.world.law = Law(policy, Sentinel([*fair.rules, late], limit_s=0.05))
    try:
        refused = await world.workflow.redeem(permit, REFUND["parameters"], leila)
    finally:
        over.set()
        world.workflow.world.law = Law(policy, fair)

    waits = await world.proposal(proposal_id)
    assert (refused.done, refused.code, waits.state) == (
        False,
        "rule_timeout",
        State.SENTINEL_APPROVED,
    )
    assert (await world.workflow.redeem(permit, REFUND["parameters"], leila)).done


async def test_what_another_rule_finds_ends_it_although_one_was_late(world: World) -> None:
    proposal_id, policy, over = await permitted(world), world.workflow.policy, Event()
    late = law("late", lambda: (over.wait(60), PASSED)[1])
    found = law("found", lambda: FOUND)
    world.workflow.world.law = Law(policy, Sentinel([late, found], limit_s=0.05))
    try:
        await world.workflow.redeem(
            await the_permit(world), REFUND["parameters"], world.sender("leila")
        )
    finally:
        over.set()

    assert (await world.proposal(proposal_id)).state is State.REJECTED


async def test_evidence_that_turns_during_a_redemption_is_judged(world: World) -> None:
    await world.observes(True)
    precondition = {"evidence_ref": "e1", "field": "ok", "operator": "eq", "value": True}
    proposal_id = await permitted(world, preconditions=[precondition])
    permit = await the_permit(world)
    gatekeeper = world.workflow.gatekeeper
    real, turned = type(gatekeeper).check, []

    async def checked(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        found = await real(self, *args, **kwargs)
        if not turned:
            turned.append(True)
            await world.observes(False)
        return found

    type(gatekeeper).check = checked  # type: ignore[method-assign]
    try:
        reply = await world.workflow.redeem(permit, REFUND["parameters"], world.sender("leila"))
    finally:
        type(gatekeeper).check = real  # type: ignore[method-assign]

    assert not reply.done
    assert (await world.proposal(proposal_id)).execution is None


async def test_a_text_that_people_did_not_see_and_would_ask_about_goes_back_to_them(
    world: World,
) -> None:
    text = "Dear Pat, &amp;amp; thanks"
    parameters = REFUND["parameters"] | {"note": digest_value(text, excerpt_length=8)}
    proposal_id = await permitted(world, parameters=parameters)

    reply = await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"] | {"note": text}, world.sender("leila")
    )

    asked = await world.proposal(proposal_id)
    assert not reply.done
    assert (asked.state, asked.opener, asked.permit_waits) == (State.SENTINEL_APPROVED, None, False)


async def test_a_number_is_judged_in_the_form_that_people_approved_however_it_is_presented(
    world: World,
) -> None:
    """A whole number written as 100.0 was refused as ambiguous, and what was approved was ended."""
    parameters = {"order": "17", "amount_minor": 100.0, "currency": "USD"}
    proposal_id = await permitted(world, parameters=parameters)

    reply = await world.workflow.redeem(await the_permit(world), parameters, world.sender("leila"))

    assert reply.done, reply.words
    assert (await world.proposal(proposal_id)).state is State.EXECUTING
