"""What an agent did after a copy was made: its report is the one thing that tells of it."""

from __future__ import annotations

import pytest

from bot.trail import verified_in
from lifecycle.state import State
from tests.stories.permits import permitted
from tests.stories.test_brought_back import brought_back
from tests.world import World

WORDS = "now reports that it did happen"


async def told(world: World) -> list[str]:
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [str(m.body["text"]) for m in messages if WORDS in str(m.body.get("text"))]


async def test_that_it_was_done_is_kept_and_told_before_anybody_approves_it_again(
    world: World,
) -> None:
    """It was refused, and the same refund was approved a second time."""
    refund = await permitted(world)
    await brought_back(world)  # to before it was redeemed

    reply = await world.workflow.report(refund, world.sender("leila"), "done", {"id": "pay_7"})
    again = await world.workflow.report(refund, world.sender("leila"), "done", {"id": "pay_7"})

    (words,) = await told(world)
    assert words.startswith(f"{refund} (issue-refund) ")
    assert "brought back" in words
    (entry,) = await world.audit("late_receipt")
    assert entry["details"]["result"]["value"] == {"id": "pay_7"}
    assert (reply.code, again.code) == ("already_decided", "permit_already_consumed")
    assert (await world.proposal(refund)).state is State.SENTINEL_APPROVED
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_it_is_told_also_after_somebody_refused_it(world: World) -> None:
    refund = await permitted(world)
    await brought_back(world)
    await world.rejects("ana", refund, "it may have been paid")

    await world.workflow.report(refund, world.sender("leila"), "done", {})

    assert len(await told(world)) == 1


async def test_what_had_ended_in_the_copy_is_no_news(world: World) -> None:
    refund = await permitted(world)
    await world.rejects("ana", refund, "never")
    await world.passes(minutes=1)
    await brought_back(world)

    reply = await world.workflow.report(refund, world.sender("leila"), "done", {})

    assert (reply.code, await told(world)) == ("already_decided", [])


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
async def test_that_it_was_not_done_changes_nothing(world: World, outcome: str) -> None:
    refund = await permitted(world)
    await brought_back(world)

    reply = await world.workflow.report(refund, world.sender("leila"), outcome, {})

    assert (reply.code, await told(world)) == ("nothing_to_settle", [])


async def test_of_what_came_after_the_copy_nobody_is_told_what_no_permit_began(
    world: World,
) -> None:
    await brought_back(world)
    refund = await permitted(world)

    reply = await world.workflow.report(refund, world.sender("leila"), "done", {})

    assert (reply.code, await told(world)) == ("nothing_to_settle", [])
