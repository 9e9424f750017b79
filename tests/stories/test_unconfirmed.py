"""Who cannot be asked for just now loses nothing; an old card takes approvals back, no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.answers import CardPlace
from lifecycle.ports import Transaction
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.world import World

DEPLOY = "production-deploy"
DUAL = {"approval_class": "dual"}


async def counting(world: World) -> list[str]:
    reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))
    return [review.person for review in reviews if review.counts]


async def test_who_cannot_be_read_is_told_that_it_passes(world: World) -> None:
    await world.submits(MAIL)
    world.notifier.unread = frozenset({"ana"})

    reply = await world.approves("ana", "p1")

    assert reply.code == "not_a_reviewer"
    assert "cannot be read just now" in reply.words
    assert reply.passing
    world.notifier.unread = frozenset()
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).state is State.EXECUTING


async def test_who_is_known_to_have_left_is_told_that_only_reviewers_decide(world: World) -> None:
    await world.submits(MAIL)
    world.notifier.lost = frozenset({"ana"})

    reply = await world.approves("ana", "p1")

    assert reply.code == "not_a_reviewer"
    assert reply.words.startswith("Only people of the reviewers' group decide here")
    assert not reply.passing


async def one_short(world: World) -> None:
    """Let both of two approve a deployment while nobody can tell whether ana is still a member."""
    await world.submits(PROD, **DUAL)
    await world.approves("ana", "p1")
    world.notifier.unread = frozenset({"ana"})
    await world.approves("ben", "p1")
    assert await counting(world) == ["ana", "ben"]
    assert world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("again", ["ana", "ben"])
async def test_a_second_approval_of_one_who_counts_opens_what_only_lacked_a_confirmation(
    world: World, again: str
) -> None:
    await one_short(world)
    world.notifier.unread = frozenset()

    reply = await world.approves(again, "p1")

    assert reply.words.startswith("All 2 approvals are confirmed by now.")
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert await counting(world) == ["ana", "ben"]
    assert (await world.trail("p1")).count("reviewed") == 2
    assert [each["actor"]["id"] for each in await world.audit("quorum_counted")] == [again]


async def test_a_second_approval_opens_nothing_while_the_other_is_not_confirmed(
    world: World,
) -> None:
    await one_short(world)
    assert (await world.approves("ben", "p1")).code == "already_counted"
    assert (await world.approves("ana", "p1")).code == "not_a_reviewer"
    world.notifier.unread, world.notifier.lost = frozenset(), frozenset({"ana"})
    assert (await world.approves("ben", "p1")).code == "already_counted"
    assert world.tool(DEPLOY).calls == []


async def test_an_approval_is_taken_back_from_an_old_card_on_which_none_is_given(
    world: World,
) -> None:
    await world.submits(PROD, **DUAL)
    await world.reacts("ana", "p1", "✅")

    def posted_anew(tx: Transaction) -> None:
        card = tx.cards.get("p1", "terminal")
        assert card is not None
        tx.cards.put(replace(card, message_ids=(*card.message_ids, "m-newer")))

    await world.store.write(posted_anew)
    old, strange = CardPlace("terminal", "m-p1"), CardPlace("terminal", "m-other")
    ana = world.sender("ana")

    assert (await world.workflow.take_back("p1", ana, card=strange)).code == "stale_card"
    assert await counting(world) == ["ana"]
    assert (await world.workflow.take_back("p1", ana, card=old)).done
    assert await counting(world) == []
    assert (await world.workflow.approve("p1", ana, card=old)).code == "stale_card"
    assert await counting(world) == []
