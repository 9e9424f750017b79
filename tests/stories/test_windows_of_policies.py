"""How long what was done can be taken back: what people saw, and what a raised tier gives."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.policy import ActionType, Level, RuleSettings
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, a_tool, the_rules
from tests.stories.forging import problems
from tests.world import World

NOTE = "take-note"
DOCUMENT = MAIL | {"tool": NOTE, "action_type": "write", "parameters": {"note": "hello"}}
SOFT = {"parameters": {"note": "this is the final warning"}}
WHY = "it is a quotation"


def noting(tier: Tier, **changes: Any) -> dict[str, Any]:
    """Return a policy's tools with one that takes notes, and a soft word about final warnings."""
    soft = RuleSettings(Level.SOFT, {"phrases": ["final warning"]})
    tool = a_tool(NOTE, tier, ActionType.WRITE, **({"reversible": True} | changes))
    return {"tools": {NOTE: tool}, "rules": the_rules() | {"prohibited_content": soft}}


async def adopts(world: World, tier: Tier, **changes: Any) -> None:
    policy = noting(tier, **changes)
    await world.adopts(**policy | {"tools": {**world.workflow.policy.tools, **policy["tools"]}})


async def approved_in_the_freeze(world: World) -> None:
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.submits(DOCUMENT, proposal_id="x")
    await world.approves("ana", "x")
    assert (await world.proposal("x")).opener is not None


async def thaws(world: World) -> None:
    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=10)


async def test_what_was_approved_with_a_window_does_not_begin_without_one(on_disk: World) -> None:
    await adopts(on_disk, Tier.CONFIRM, window_s=600)
    await approved_in_the_freeze(on_disk)

    await adopts(on_disk, Tier.CONFIRM, reversible=False)
    await thaws(on_disk)

    waits = await on_disk.proposal("x")
    assert (waits.state, waits.opener, waits.window_s) == (State.SENTINEL_APPROVED, None, 0)
    reviews = await on_disk.store.read(lambda tx: tx.reviews.of("x"))
    assert [review.void_why for review in reviews] == ["the policy changed"]
    await on_disk.approves("ben", "x")
    assert (await on_disk.proposal("x")).state is State.COMPLETED
    assert await problems(on_disk) == []


@pytest.mark.parametrize("window_s", [300, 600, 900])
async def test_a_window_that_a_policy_leaves_as_long_or_makes_longer_voids_nothing(
    world: World, window_s: int
) -> None:
    await adopts(world, Tier.CONFIRM, window_s=600)
    await approved_in_the_freeze(world)

    await adopts(world, Tier.CONFIRM, window_s=window_s)
    await thaws(world)

    begun = await world.proposal("x")
    assert (begun.state, begun.window_s) == (State.EXECUTING, max(600, window_s))


async def raised_at_the_verdict(world: World) -> None:
    await adopts(world, Tier.AUTO_PLUS, window_s=600)
    await world.submits(DOCUMENT, proposal_id="x", **SOFT)


async def raised_by_a_policy(world: World) -> None:
    await adopts(world, Tier.AUTO_PLUS, window_s=600)
    nothing = RuleSettings(Level.HARD, {"phrases": ["nothing that is said here"]})
    await world.adopts(rules=the_rules() | {"prohibited_content": nothing})
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.submits(DOCUMENT, proposal_id="x", **SOFT)
    await adopts(world, Tier.AUTO_PLUS, window_s=600)
    await world.workflow.thaw(world.sender("ana"))


async def raised_right_before_it_begins(world: World) -> None:
    """What its evidence says is a soft finding by the time at which it could begin."""
    soft = RuleSettings(Level.SOFT, the_rules()["preconditions_hold"].settings)
    await adopts(world, Tier.AUTO_PLUS, window_s=600)
    await world.adopts(rules={**world.workflow.policy.rules, "preconditions_hold": soft})
    await world.observes(True)
    await world.workflow.freeze("a look first", world.sender("ana"))
    condition = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}
    await world.submits(DOCUMENT, proposal_id="x", preconditions=[condition])
    world.clock.advance(1)
    await world.observes(False)
    await thaws(world)


RAISED = pytest.mark.parametrize(
    "raised", [raised_at_the_verdict, raised_by_a_policy, raised_right_before_it_begins]
)


@RAISED
async def test_what_a_soft_finding_raises_has_the_window_that_its_tool_sets(
    on_disk: World, raised: Any
) -> None:
    await raised(on_disk)
    waits = await on_disk.proposal("x")
    assert (waits.state, waits.tier) == (State.SENTINEL_APPROVED, Tier.CONFIRM)
    assert waits.window_s == 600
    await on_disk.shows()

    assert (await on_disk.approves("ana", "x", WHY)).done
    assert (await on_disk.rejects("ben", "x")).done

    taken = await on_disk.proposal("x")
    assert (taken.state, taken.reason) == (State.ROLLED_BACK, "rolled_back_by_person")
    assert on_disk.tool(NOTE).verbs() == ["execute", "roll_back"]
    assert await problems(on_disk) == []


async def test_a_proposal_may_lengthen_the_window_that_it_is_raised_to(world: World) -> None:
    await adopts(world, Tier.AUTO, window_s=600)
    longer = {"kind": "compensated", "window_s": 1200}
    await world.submits(DOCUMENT, proposal_id="x", **SOFT, rollback_semantics=longer)

    assert (await world.proposal("x")).window_s == 1200


@pytest.mark.parametrize(
    ("tier", "tool", "window_s"),
    [
        (Tier.AUTO, {}, 0),
        (Tier.AUTO_PLUS, {"reversible": False}, 0),
        (Tier.CONFIRM, {}, 0),
        (Tier.PROPOSE, {}, 900),
        (Tier.PROPOSE, {"window_s": 600}, 600),
    ],
)
async def test_a_raised_tier_has_no_window_that_its_tool_does_not_set(
    world: World, tier: Tier, tool: dict[str, Any], window_s: int
) -> None:
    await adopts(world, tier, **tool)
    await world.submits(DOCUMENT, proposal_id="x", **SOFT)

    assert (await world.proposal("x")).window_s == window_s


async def test_what_an_older_version_raised_without_a_window_is_no_false_alarm(
    on_disk: World, forged: Any
) -> None:
    await raised_at_the_verdict(on_disk)
    forged("UPDATE proposals SET rest = json_remove(rest, '$.window_s')")
    forged("UPDATE audit SET details = json_remove(details, '$.window_s')")
    assert (await on_disk.proposal("x")).window_s == 0
    # The link is broken by this; of the row nothing is said.
    assert all(words.startswith("entry ") for words in await problems(on_disk))

    await on_disk.approves("ana", "x", WHY)

    assert (await on_disk.proposal("x")).state is State.COMPLETED
    assert all(words.startswith("entry ") for words in await problems(on_disk))
