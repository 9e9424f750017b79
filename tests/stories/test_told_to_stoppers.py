"""Who may stop a proposal and not settle it is told whose word is needed, and which."""

from __future__ import annotations

import pytest

from lifecycle.ports import ToolFailed
from tests.builders import MAIL
from tests.fakes.tools import answering, raising
from tests.world import World

SEND = "send-email"
LOST = RuntimeError("the line was cut")


@pytest.fixture
async def in_doubt(world: World) -> World:
    """A world in which nobody knows whether a mail was drafted."""
    world.tool(SEND).on["execute"] = raising(LOST)
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    return world


async def test_an_owner_who_stops_what_is_in_doubt_is_told_that_a_reviewer_settles_it(
    in_doubt: World,
) -> None:
    kept = await in_doubt.rejects("olga", "p1")
    assert kept.done
    assert kept.words.endswith("A reviewer looks, then: settle p1 happened | did-not-happen")
    refused = await in_doubt.workflow.settle("p1", in_doubt.sender("olga"), happened=True)
    assert refused.code == "not_a_reviewer"


@pytest.mark.parametrize("fails", [LOST, ToolFailed("the draft is locked")])
async def test_an_owner_who_stops_what_is_half_taken_back_is_told_that_a_reviewer_goes_on(
    in_doubt: World, fails: Exception
) -> None:
    in_doubt.tool(SEND).on |= {"execute": answering({}), "roll_back": raising(fails)}
    assert (await in_doubt.workflow.retry("p1", in_doubt.sender("ben"))).done
    await in_doubt.workflow.idle()
    assert (await in_doubt.rejects("ana", "p1")).done
    await in_doubt.workflow.idle()

    again = await in_doubt.rejects("olga", "p1")
    assert again.code == "already_decided"
    assert "reviewer" in again.words
    assert "settle p1 happened" in again.words
