"""An approval that counts is tried again by the ✅ that stands, unless that very ✅ was refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.hearing.event_ids import late_event
from bot.chat.hearing.known import Known
from bot.chat.hearing.refused import note_gone, says_anew
from bot.chat.hearing.refused_emoji import note_refused
from bot.chat.hearing.signals import Signal
from bot.storage.memory import MemoryStore
from lifecycle.answers import Sender
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import Card
from lifecycle.review import Decision, Review
from tests.builders import NOW_MS, a_proposal

CARD = Card("p1", "discord", 1, message_ids=("77",))
BEN = Sender("discord", ActorKind.PERSON, "ben", "205")
CAL = replace(BEN, id="cal")
HERE, ELSEWHERE = late_event("77", BEN, Signal.APPROVE, 0), "slack:C0OPS:9"


async def known(event_id: str, *refused_to: Sender, gone: bool = False) -> Known:
    """Return what is known if ben's approval of `event_id` counts, and his account's ✅ here was
    refused to these, and `gone` since."""
    store = MemoryStore()
    approval = Review("p1", "ben", Decision.APPROVE, "", NOW_MS, "discord", event_id)

    def unit(tx: Transaction) -> Card:
        tx.proposals.add(a_proposal(proposal_id="p1"))
        tx.cards.put(CARD)
        for sender in refused_to:
            note_refused(tx, CARD, sender, Signal.APPROVE, NOW_MS)
        if gone:
            note_gone(tx, CARD, [(BEN.account, Signal.APPROVE)])
        card = tx.cards.get("p1", "discord")
        assert card is not None
        return card

    return Known(a_proposal(), [approval], await store.write(unit), short=True)


async def test_one_that_was_refused_to_its_giver_is_not_tried_again() -> None:
    assert says_anew(BEN, await known(HERE))
    assert not says_anew(BEN, await known(HERE, BEN))


async def test_one_that_was_refused_and_given_once_more_is_tried_again() -> None:
    """The card was cleared meanwhile, so that the approval went on counting."""
    assert says_anew(BEN, await known(HERE, BEN, gone=True))


async def test_one_beside_an_approval_that_was_given_elsewhere_is_tried_again() -> None:
    """It is noted as one that was refused, for it changed nothing, and gave no approval."""
    assert says_anew(BEN, await known(ELSEWHERE, BEN))


async def test_one_that_was_refused_to_a_former_owner_of_the_account_is_tried_again() -> None:
    assert says_anew(BEN, await known(HERE, CAL))


@pytest.mark.parametrize("why", ["taken_back", None])
async def test_only_an_approval_that_counts_keeps_the_mark_from_being_tried(
    why: str | None,
) -> None:
    """Beside one of his that counts, a void one that this ✅ gave says nothing."""
    told = await known(HERE, BEN)
    void = replace(told.reviews[0], void_why=why)
    counts = replace(told.reviews[0], event_id=ELSEWHERE)

    assert says_anew(BEN, replace(told, reviews=[void, counts])) == (why is not None)
