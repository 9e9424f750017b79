"""A card says what becomes of ❌ and of the commit where the config calls the tool otherwise."""

from __future__ import annotations

import pytest

from bot.chat.cards.beside import Beside, noted
from bot.chat.cards.card import card_of
from tests.builders import MAIL
from tests.stories.test_calls_changed_meanwhile import (
    AT_ONCE,
    OTHER,
    SEND,
    becomes,
    begun_anew,
    is_again,
)
from tests.world import World

STAGED = "Nothing is carried out before the window closes; after that it cannot be taken back."
DONE = "It acts at once and can be taken back until the window closes; after that not from here."


async def said(world: World) -> str:
    """Return what the card that is shown now says of taking back."""
    found = await world.store.read(lambda tx: noted(tx, "p1"))
    cards = await world.store.read(lambda tx: tx.cards.of("p1"))
    assert found is not None
    proposal, reviews, call = found
    assert {card.wanted_version for card in cards} == {proposal.version}
    policy, now_ms = world.workflow.policy, world.clock.now_ms()
    card = card_of(proposal, Beside(policy, now_ms, reviews, {}, call))
    return next(each.text for each in card.facts if each.label == "Cannot be undone")


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_card_does_not_promise_what_waits_for_a_person_under_a_new_config(
    world: World, at_once: bool
) -> None:
    if at_once:
        await becomes(world, **AT_ONCE)
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    assert await said(world) == (DONE if at_once else STAGED)

    shown = (await world.proposal("p1")).version
    before = await becomes(world, settings={"execute": ["other"]} if at_once else OTHER)

    assert (await world.proposal("p1")).version > shown, "so its card is edited"
    assert ("after ❌ it is not taken back before" if at_once else "Nothing is carried out by") in (
        await said(world)
    )

    await is_again(world, before)
    assert await said(world) == (DONE if at_once else STAGED)
    assert world.tool(SEND).verbs() == ["execute"]


async def test_what_a_person_had_called_anew_is_told_by_the_config_of_that_call(
    world: World,
) -> None:
    await becomes(world, **AT_ONCE)
    await begun_anew(world, settings={"execute": ["other"]})

    assert await said(world) == DONE
