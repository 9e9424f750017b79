"""The doors for agents stand before the surfaces: what is asked of those reaches them all the same.

A wrapper that answered for them would let everything begin over a ❌ that nobody heard.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bot.intake.http.waiting import Heard
from lifecycle.state import State
from tests.builders import PROD, REFUND
from tests.fakes.notifier import PlainNotifier
from tests.stories.permits import permitted, the_permit
from tests.world import World

DEPLOY = "production-deploy"


@dataclass
class Missed(PlainNotifier):
    """Surfaces that kept three decisions, and on which a ❌ may stand that was missed."""

    world: World | None = None
    stands: bool = False

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        if self.stands and self.world is not None:
            ana = self.world.sender("ana")
            assert (await self.world.workflow.reject(proposal_id, ana, "no")).done
        return True

    async def catch_up(self) -> int:
        return 3


@pytest.fixture
def missed(world: World) -> Missed:
    """Surfaces behind the doors for agents and their call-backs."""
    surfaces = Missed(world=world)
    world.notifier = surfaces
    world.workflow.world.notifier = Heard(Heard(surfaces, lambda: None), lambda: None)
    return surfaces


async def test_what_waited_begins_over_no_cross_that_was_missed(
    world: World, missed: Missed
) -> None:
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")
    missed.stands = True
    await world.workflow.thaw(world.sender("ana"))

    await world.workflow.open_ready()
    await world.workflow.idle()

    assert (await world.proposal("p1")).reason == "rejected_by_person"
    assert world.tool(DEPLOY).verbs() == []


async def test_no_agent_begins_by_its_permit_over_one(world: World, missed: Missed) -> None:
    proposal_id = await permitted(world)
    permit = await the_permit(world)
    missed.stands = True

    reply = await world.workflow.redeem(permit, REFUND["parameters"], world.sender("leila"))

    ended = await world.proposal(proposal_id)
    assert (reply.done, reply.code) == (False, "already_decided")
    assert (ended.state, ended.execution) == (State.REJECTED, None)


async def test_what_the_surfaces_kept_is_read(world: World, missed: Missed) -> None:
    del missed
    assert await world.workflow.world.notifier.catch_up() == 3
