"""What rests on several packets is judged by each of them as of when that one was recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.policy import Level
from tests.stories.resting_on_evidence import SEND, Mail, is_taken_back
from tests.world import World

_AGED_S = 6 * 60


@pytest.fixture(params=["running", "unknown"])
async def mail(world: World, request: pytest.FixtureRequest) -> Mail:
    """A mail under way that rests on e1 and e2."""
    under_way = Mail(world, request.param)
    await under_way.is_sent("e2")
    return under_way


async def test_an_objection_does_not_age_away_because_other_evidence_came_later(
    world: World, mail: Mail
) -> None:
    await world.observes(False, "e1")
    world.clock.advance(_AGED_S)
    await world.observes(True, "e2")

    await mail.is_answered()

    await is_taken_back(world)


async def test_what_aged_before_other_evidence_came_takes_nothing_back_where_it_was_good(
    world: World, mail: Mail
) -> None:
    world.clock.advance(_AGED_S)
    await world.observes(True, "e2")

    await mail.is_answered()
    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_what_a_softer_policy_let_pass_is_judged_by_the_next_although_other_evidence_came(
    world: World,
) -> None:
    mail = Mail(world, "running")
    await mail.is_sent("e2")
    await mail.is_answered()
    hard = dict(world.workflow.policy.rules)
    soft = replace(hard["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=hard | {"preconditions_hold": soft})
    await world.observes(False, "e1")
    await world.passes(seconds=_AGED_S)
    await world.observes(True, "e2")
    await world.passes(seconds=1)

    await world.adopts(rules=hard)

    await is_taken_back(world)
