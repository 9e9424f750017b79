"""What stood in a copy is known as a copy's whatever the clocks say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.answers import CardPlace, Reply
from lifecycle.clockwork.restored import bring_back
from lifecycle.copied import is_of_a_copy
from lifecycle.tier import Tier
from tests.builders import PROD
from tests.fakes.clock import FakeClock
from tests.stories.unrecorded import SEARCH
from tests.world import World

DEPLOY = "production-deploy"


def the_clock_says(world: World, seconds: int) -> None:
    """Set the clock on by so many seconds, or back where they are negative."""
    right = FakeClock(world.clock.now_ms() + seconds * 1000)
    world.workflow.world.clock = world.clock = right


async def brought_back(world: World, seconds: int) -> None:
    """Bring a copy back by a clock that was set since."""
    the_clock_says(world, seconds)
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.restarts()
    await world.workflow.thaw(world.sender("ana"))


async def of_a_copy(world: World, proposal_id: str) -> bool:
    proposal = await world.proposal(proposal_id)
    return await world.store.read(lambda tx: is_of_a_copy(tx, proposal))


async def is_found(world: World, proposal_id: str) -> Reply:
    place = CardPlace("terminal", f"m-{proposal_id}", shown_version=2**31)
    sender = world.sender("ana", f"late:{proposal_id}")
    reply = await world.workflow.approve(proposal_id, sender, card=place, found_late=True)
    await world.workflow.idle()
    return reply


@pytest.mark.parametrize("seconds", [-86_400, -1, 0, 60])
async def test_a_check_mark_that_stood_under_a_card_of_a_copy_opens_nothing_whatever_the_clock_says(
    world: World, seconds: int
) -> None:
    await world.submits(PROD, proposal_id="d")
    await brought_back(world, seconds)

    assert await of_a_copy(world, "d")
    reply = await is_found(world, "d")
    assert (reply.done, reply.code) == (False, "stale_card")
    assert "brought back from a copy" in reply.words
    assert world.tool(DEPLOY).verbs() == []


async def test_no_policy_lets_begin_by_itself_what_stood_in_a_copy_whose_clock_was_ahead(
    world: World,
) -> None:
    tools = dict(world.workflow.policy.tools)
    search = tools["search"]
    await world.adopts(tools=tools | {search.name: replace(search, tier=Tier.CONFIRM)})
    await world.submits(SEARCH, proposal_id="s")
    await brought_back(world, -60)
    await world.adopts(tools=tools)
    await world.keeps_house()

    assert world.tool("search").verbs() == []
    assert (await world.proposal("s")).tier is Tier.CONFIRM


async def test_what_is_proposed_after_a_restore_is_no_copys_though_the_clock_is_set_back(
    world: World,
) -> None:
    await brought_back(world, 0)
    the_clock_says(world, -3_600)
    await world.submits(PROD, proposal_id="d")

    assert not await of_a_copy(world, "d")
    assert (await is_found(world, "d")).done
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_what_a_former_version_brought_back_is_known_by_its_time(world: World) -> None:
    await world.submits(PROD, proposal_id="d")
    at_ms = world.clock.now_ms()
    await world.store.write(lambda tx: tx.flags.put("restored", {"at_ms": at_ms}))
    world.clock.advance(1)
    other = {"version": "v43"}
    await world.submits(PROD, proposal_id="later", parameters=other)

    assert await of_a_copy(world, "d")
    assert not await of_a_copy(world, "later")
