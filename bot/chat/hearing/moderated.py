"""What moderators do to cards: deleted, or cleared of emoji. It is noted, and changes no review."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.hearing.known import note_cleared
from bot.chat.hearing.signals import Signal
from lifecycle.door import record
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Proposal
from lifecycle.records import Card
from lifecycle.world import World


async def card_deleted(world: World, surface: str, message_id: str) -> bool:
    """Note that a card was deleted and have it posted again; False where it is no current card."""
    moment = world.moment()

    def unit(tx: Transaction) -> bool:
        found = _noted(tx, moment, "card_deleted", surface, message_id)
        if found is None:
            return False
        card, proposal = found
        if not proposal.terminal:
            claim = "" if card.delivered else card.claim
            tx.cards.put(replace(card, shown_version=0, delivered=False, claim=claim))
        return True

    return await world.write(unit)


async def card_cleared(
    world: World, surface: str, message_id: str, signal: Signal | None
) -> Card | None:
    """Note that somebody cleared a card of its emoji, all or one kind.

    None where it is no current card.
    """
    moment = world.moment()

    def unit(tx: Transaction) -> Card | None:
        found = _noted(tx, moment, "card_cleared", surface, message_id)
        if found is None:
            return None
        card, _ = found
        if signal is not Signal.STOP:
            note_cleared(tx, card, moment.now_ms)
        return card

    return await world.write(unit)


def _noted(
    tx: Transaction, moment: Moment, kind: str, surface: str, message_id: str
) -> tuple[Card, Proposal] | None:
    """Write the row of it; None where no card stands in this message by now."""
    card = tx.cards.find(surface, message_id)
    proposal = tx.proposals.get(card.proposal_id) if card else None
    if card is None or proposal is None or message_id != card.message_ids[-1]:
        return None
    details = {"surface": surface, "message_id": message_id}
    record(tx, moment, kind, SENTINEL, proposal=proposal, details=details)
    return card, proposal
