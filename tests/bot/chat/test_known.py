"""What a card that is read is compared with: who counts, whose ✅ is gone, and since when."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.chat.hearing.event_ids import card_event
from bot.chat.hearing.known import Known, known_of, note_changed, note_cleared
from bot.chat.hearing.seen_gone import GONE
from lifecycle.answers import CardPlace
from lifecycle.ports import Transaction
from tests.builders import PROD
from tests.stage import in_memory
from tests.world import World

PLACE = CardPlace("terminal", "m-p1")
DUAL = {"approval_class": "dual"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A deployment that two must approve, of which ana has by her ✅."""
    async with in_memory(tmp_path) as staged:
        await staged.submits(PROD, **DUAL)
        await staged.reacts("ana", "p1", "✅")
        yield staged


async def known(world: World) -> Known:
    """Read what is known of its card."""

    def read(tx: Transaction) -> Known | None:
        card = tx.cards.get("p1", "terminal")
        assert card is not None
        return known_of(tx, world.workflow.policy, card)

    found = await world.store.read(read)
    assert found is not None
    return found


async def changes(world: World, *, added: bool) -> Known:
    """Let ana's ✅ be given once more, or be taken off, and change no review."""
    card, now_ms = (await known(world)).card, world.clock.now_ms()
    noting = lambda tx: note_changed(  # noqa: E731
        tx, card, "ana", now_ms, 1, added=added, account="11"
    )
    await world.store.write(noting)
    return await known(world)


async def is_void(world: World) -> None:
    voiding = lambda tx: tx.reviews.void("p1", None, "the policy changed")  # noqa: E731
    assert await world.store.write(voiding) == 1


async def is_cleared(world: World) -> None:
    card, now_ms = (await known(world)).card, world.clock.now_ms()
    await world.store.write(lambda tx: note_cleared(tx, card, now_ms))
    assert (await known(world)).cleared_ms == now_ms


async def test_a_check_mark_given_once_more_matters_where_the_card_was_cleared(
    world: World,
) -> None:
    assert (await changes(world, added=True)).given_ms == {}
    await is_cleared(world)
    assert (await changes(world, added=False)).given_ms == {}
    assert (await changes(world, added=True)).given_ms == {"ana": world.clock.now_ms()}


@pytest.mark.parametrize("cleared", [True, False])
async def test_a_check_mark_taken_off_matters_where_the_approval_is_void(
    world: World, cleared: bool
) -> None:
    if cleared:
        await is_cleared(world)
    assert GONE not in (await changes(world, added=False)).card.extra
    await is_void(world)
    assert (await known(world)).seen_gone == {}
    world.clock.advance(1)

    gone = await changes(world, added=False)

    assert gone.card.extra[GONE] == {"ana": world.clock.now_ms()}
    assert gone.gone_version == {"ana": 1}
    assert gone.given_ms == {}
    assert gone.seen_gone == {"ana": {"11"}}


@pytest.mark.parametrize(
    ("event", "here"),
    [
        (card_event("m-p1", "11", "e9"), True),
        (card_event("m-p2", "11", "e9"), False),
        ("e9", False),
        (None, False),
    ],
)
async def test_only_a_check_mark_taken_off_this_very_card_is_known_to_be_gone(
    world: World, event: str | None, here: bool
) -> None:
    reply = await world.workflow.take_back("p1", world.sender("ana", event), card=PLACE)
    assert reply.done
    assert (await known(world)).seen_gone == ({"ana": {"11"}} if here else {})


@pytest.mark.parametrize("opened", [True, False])
async def test_it_is_short_where_the_quorum_is_there_and_nobody_has_opened_it(
    world: World, opened: bool
) -> None:
    assert not (await known(world)).short
    await world.workflow.freeze("look first", world.sender("ana"))
    if not opened:  # ana cannot be asked for, so that ben's approval opens nothing
        world.notifier.unread = frozenset({"ana"})
    assert (await world.reacts("ben", "p1", "✅")).done

    found = await known(world)
    assert (found.proposal.opener is not None) is opened
    assert found.short is not opened


async def test_nothing_is_known_of_what_has_ended(world: World) -> None:
    card = (await known(world)).card
    await world.rejects("ben", "p1")
    policy = world.workflow.policy
    assert await world.store.read(lambda tx: known_of(tx, policy, card)) is None
