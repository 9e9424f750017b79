"""A ✅ comes while a new policy is in force that has not judged yet what waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Policy
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, the_people, the_tools
from tests.roads import adopted
from tests.stories.forging import problems
from tests.world import World, an_unhurried_sentinel

SEND = "send-email"
THE_ORCHESTRATOR: dict[str, Any] = {
    "orchestrator": "nour",
    "auto_approval_tiers": frozenset({Tier.PROPOSE}),
}
ANOTHER_REVIEWER: dict[str, Any] = {
    "people": {
        **the_people(),
        "cal": replace(the_people()["cal"], groups=frozenset({"approvers"}), terminal=True),
    }
}
ANOTHER_CALL: dict[str, Any] = {
    "tools": {
        **the_tools(),
        SEND: replace(the_tools()[SEND], settings={"smtp": {"host": "mail.elsewhere.example"}}),
    }
}
_OTHERS = [
    pytest.param("ana", THE_ORCHESTRATOR, id="an orchestrator"),
    pytest.param("nour", THE_ORCHESTRATOR, id="by the orchestrator"),
    pytest.param("cal", ANOTHER_REVIEWER, id="another reviewer"),
    pytest.param("ana", ANOTHER_CALL, id="another call"),
]


async def comes_in_force(world: World, **changes: Any) -> Policy:
    """Put a policy in force by which nothing is judged yet; return the one of before."""
    before = world.workflow.policy
    policy = replace(before, digest="pol1_" + "b" * 64, **changes)
    await world.workflow.put_in_force(policy, an_unhurried_sentinel(policy), lambda: None)
    return before


@pytest.mark.parametrize(("who", "changes"), _OTHERS)
async def test_an_approval_does_not_count_before_the_policy_in_force_has_judged(
    world: World, who: str, changes: dict[str, Any]
) -> None:
    await world.submits(MAIL, proposal_id="p1")
    before = await comes_in_force(world, **changes)

    early = await world.approves(who, "p1")
    assert (early.done, early.code, early.passing) == (False, "still_running", True)

    await adopted(world.workflow, before, an_unhurried_sentinel(before))
    await world.passes(seconds=5)
    waits = await world.proposal("p1")
    assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool(SEND).verbs() == []
    assert await problems(world) == []

    assert (await world.approves("ana", "p1")).done
    assert world.tool(SEND).verbs() == ["execute"]


async def test_an_approval_counts_as_soon_as_the_policy_in_force_has_judged(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1")
    await comes_in_force(world, **ANOTHER_CALL)
    assert not (await world.approves("ana", "p1")).done

    await world.workflow.recheck()
    await world.shows()

    assert (await world.approves("ana", "p1")).done
    assert world.tool(SEND).verbs() == ["execute"]
    assert await problems(world) == []
