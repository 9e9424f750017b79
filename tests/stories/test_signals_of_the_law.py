"""What every signal must pass, whatever the platform: the card, the event, what was shown."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.answers import CardPlace
from tests.builders import PROD
from tests.world import World

DEPLOY = "production-deploy"


async def test_a_decision_on_an_old_card_is_none(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    old = CardPlace("terminal", "m-old")

    approved = await world.workflow.approve(proposal_id, world.sender("ana"), card=old)
    rejected = await world.workflow.reject(proposal_id, world.sender("ana"), card=old)

    assert (approved.code, rejected.code) == ("stale_card", "stale_card")
    assert await world.store.read(lambda tx: tx.reviews.of(proposal_id)) == []
    assert [row["reason"] for row in await world.audit("ignored")] == ["stale_card"] * 2


async def test_an_event_that_comes_again_counts_once_and_leaves_no_second_row(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    event = world.sender("ana", event_id="e1")
    await world.workflow.approve(proposal_id, event)
    await world.workflow.take_back(proposal_id, world.sender("ana"))

    again = await world.workflow.approve(proposal_id, event)
    await world.approves("ben", proposal_id)

    assert again.code == "duplicate_event"
    assert world.tool(DEPLOY).calls == []
    assert await world.audit("ignored") == []


async def test_what_is_not_shown_whole_is_not_approved_and_can_be_stopped(world: World) -> None:
    await world.workflow.freeze("wait", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    card = await world.store.read(lambda tx: tx.cards.get(proposal_id, "terminal"))
    assert card is not None
    await world.store.write(lambda tx: tx.cards.put(replace(card, full=False)))

    approved = await world.approves("ana", proposal_id)
    rejected = await world.rejects("ana", proposal_id)

    assert approved.code == "not_fully_shown"
    assert rejected.done
