"""Evidence that is judged while a mistaken policy holds: what that one says pays for no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lifecycle.policy import Level, Policy, RuleSettings
from lifecycle.verdicts.last_judged import is_owed
from tests.roads import adopted
from tests.stories.forging import problems
from tests.stories.resting_on_evidence import SEND, Mail, is_taken_back
from tests.world import World, an_unhurried_sentinel

MISTAKEN = "pol1_" + "3" * 64
Mistake = Callable[[Policy], Policy]


def asks_for_none(policy: Policy) -> Policy:
    settings = policy.rules["preconditions_hold"].settings
    soft = {"preconditions_hold": RuleSettings(Level.SOFT, settings)}
    return replace(policy, digest=MISTAKEN, rules={**policy.rules, **soft})


def without_the_tool(policy: Policy) -> Policy:
    tools = {name: tool for name, tool in policy.tools.items() if name != SEND}
    return replace(policy, digest=MISTAKEN, tools=tools)


async def adopts(world: World, policy: Policy) -> None:
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))


@pytest.fixture(params=["running", "unknown"])
async def mail(world: World, request: pytest.FixtureRequest) -> Mail:
    """A mail under way."""
    under_way = Mail(world, request.param)
    await under_way.is_sent()
    return under_way


@pytest.mark.parametrize("mistake", [asks_for_none, without_the_tool])
async def test_what_was_recorded_under_it_is_judged_by_the_one_that_is_back_before_the_tool_answers(
    world: World, mail: Mail, mistake: Mistake
) -> None:
    """Its window closed over the objection: by then nobody was to judge that evidence any more."""
    meant = world.workflow.policy
    await adopts(world, mistake(meant))
    await world.observes(False)
    await adopts(world, meant)

    await mail.is_answered()

    await is_taken_back(world)


@pytest.mark.parametrize("mistake", [asks_for_none, without_the_tool])
async def test_what_is_owed_to_the_policy_before_is_not_paid_by_it(
    world: World, mail: Mail, mistake: Mistake
) -> None:
    meant = world.workflow.policy
    await world.observes(False)
    await adopts(world, mistake(meant))
    await mail.is_answered()
    await adopts(world, meant)

    await world.passes(minutes=16)

    await is_taken_back(world)


@pytest.mark.parametrize("mistake", [asks_for_none, without_the_tool])
async def test_what_it_had_not_come_to_is_judged_by_the_one_that_is_back(
    world: World, mail: Mail, mistake: Mistake
) -> None:
    """Some five hundred a second are judged anew: with many open it is back before that."""
    await mail.is_answered()
    meant = world.workflow.policy
    mistaken = mistake(meant)
    await world.workflow.put_in_force(mistaken, an_unhurried_sentinel(mistaken), lambda: None)
    await world.observes(False)
    await adopts(world, meant)

    await world.passes(minutes=16)

    await is_taken_back(world)


@pytest.mark.parametrize("back", [True, False])
async def test_what_no_policy_objects_to_ends_as_it_would_and_its_trail_agrees(
    on_disk: World, back: bool
) -> None:
    mail, meant = Mail(on_disk, "running"), on_disk.workflow.policy
    await mail.is_sent()
    await adopts(on_disk, asks_for_none(meant))
    await on_disk.observes(True)
    assert is_owed(await on_disk.proposal("m1"))
    if back:
        await adopts(on_disk, meant)

    await mail.is_answered()
    settled = await on_disk.proposal("m1")
    assert settled.checked_policy_digest == on_disk.workflow.policy.digest
    assert await problems(on_disk) == []
    await on_disk.passes(minutes=16)

    assert on_disk.tool(SEND).verbs() == ["execute", "commit"]
    assert await problems(on_disk) == []
