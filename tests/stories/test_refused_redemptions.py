"""A refused attempt to use a permit leaves an entry where it can, and is refused in any case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.permit import issue, read
from lifecycle.proposal import Verb
from lifecycle.state import State
from tests.builders import REFUND
from tests.slack_stage.unwritable import Unwritable
from tests.stories.permits import permitted, the_permit
from tests.world import World

OTHERWISE = {"amount": "1.00"}


async def test_it_is_refused_for_its_own_reason_while_nothing_can_be_written(world: World) -> None:
    await permitted(world)
    token = await the_permit(world)
    disk = Unwritable(world.store)
    disk.failing = True
    world.workflow.world.store = disk  # type: ignore[assignment]

    reply = await world.workflow.redeem(token, OTHERWISE, world.sender("leila"))

    assert reply.code == "proposal_parameter_mismatch"
    assert await world.audit("permit_refused") == []


async def test_a_permit_that_was_not_signed_here_leaves_its_entry_with_no_proposal(
    world: World,
) -> None:
    await permitted(world)
    token = await the_permit(world)
    forged = token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")

    reply = await world.workflow.redeem(forged, OTHERWISE, world.sender("leila"))

    (row,) = await world.audit("permit_refused")
    assert (row["reason"], row["proposal_id"]) == (reply.code, None)
    assert reply.code == "permit_signature_invalid"


@pytest.mark.parametrize("verb", [Verb.COMMIT, Verb.ROLL_BACK])
async def test_a_permit_for_another_verb_begins_nothing(world: World, verb: Verb) -> None:
    """It was compared with itself: a permit to roll back, which never expires, would begin."""
    proposal_id = await permitted(world)
    ring = world.workflow.world.ring
    other = issue(replace(read(await the_permit(world), ring), verb=verb.value), ring)

    reply = await world.workflow.redeem(other, REFUND["parameters"], world.sender("leila"))

    assert reply.code == "permit_mismatch"
    assert (await world.proposal(proposal_id)).state is State.SENTINEL_APPROVED
