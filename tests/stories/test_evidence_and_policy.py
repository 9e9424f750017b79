"""A policy that comes while evidence is judged: what waits is not ended by the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.policy import Level
from lifecycle.state import State
from tests.builders import MAIL
from tests.roads import adopted
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World, an_unhurried_sentinel


async def test_what_a_new_policy_puts_before_people_is_not_rejected_by_the_former_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])
    world.clock.advance(1)
    rules = dict(world.workflow.policy.rules)
    rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=Level.SOFT)
    real, begun = Gatekeeper.check_evidence, []

    async def check_evidence(self: Gatekeeper, *args: Any) -> Any:
        checked = await real(self, *args)
        if not begun:
            begun.append(True)
            policy = replace(world.workflow.policy, rules=rules, digest=f"pol1_{'f' * 64}")
            await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
        return checked

    monkeypatch.setattr(Gatekeeper, "check_evidence", check_evidence)
    await world.observes(False)
    await world.keeps_house()

    assert (await world.proposal("m1")).state is State.SENTINEL_APPROVED
    assert (await world.approves("ana", "m1")).code == "reason_required"


@pytest.mark.parametrize(("last", "end"), [(False, State.ROLLED_BACK), (True, State.COMPLETED)])
async def test_what_a_softer_policy_let_pass_is_judged_by_the_next_although_it_aged_meanwhile(
    world: World, last: bool, end: State
) -> None:
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])
    await world.approves("ana", "m1")
    hard = dict(world.workflow.policy.rules)
    soft = replace(hard["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=hard | {"preconditions_hold": soft})
    await world.observes(False)
    await world.observes(last)
    await world.passes(minutes=10)
    assert (await world.proposal("m1")).state is State.EXECUTING
    await world.adopts(rules=hard)
    await world.passes(minutes=10)
    assert (await world.proposal("m1")).state is end
