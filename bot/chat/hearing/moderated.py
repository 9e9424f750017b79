"""Notes what moderators do to cards: delete them, empty them, or clear them of emoji.

None of that changes a review. A card that was deleted or emptied is shown again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bot.chat.hearing.known import HIDDEN, note_cleared
from bot.chat.hearing.signals import Signal
from lifecycle.door import record
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Proposal
from lifecycle.records import Card
from lifecycle.world import World

#: How often a card was deleted soon after it was posted.
_TIMES: Final = "deleted_times"
#: A card that stood for this long is posted again at once, and earlier deletions are forgotten.
_STOOD_MS: Final = 60_000
#: Any other card is posted again at once this often; then after pauses that grow.
_AT_ONCE: Final = 3
_LONGEST_PAUSE_MS: Final = 60_000
#: How often a card was emptied. The more often it was, the later it is shown again.
_HIDDEN_TIMES: Final = "hidden_times"


async def card_deleted(world: World, surface: str, message_id: str) -> bool:
    """Note that a card was deleted and have it posted again; return False if it is no current card,
    or is known to be deleted."""
    moment = world.moment()
    return await world.write(lambda tx: note_deleted(tx, moment, surface, message_id))


def note_deleted(tx: Transaction, moment: Moment, surface: str, message_id: str) -> bool:
    """Note the same within a unit."""
    card = tx.cards.find(surface, message_id)
    if card is None or (card.shown_version == 0 and not card.delivered):
        return False
    found = _noted(tx, moment, EventKind.CARD_DELETED, surface, message_id)
    if found is None:
        return False
    card, proposal = found
    if not proposal.terminal:
        tx.cards.put(_to_be_posted(card, moment.now_ms))
    return True


def _to_be_posted(card: Card, now_ms: int) -> Card:
    """Return the row of a card that was deleted, to be posted again.

    The pauses grow, for a bot that keeps the channel clean deletes every card at once, and each
    post would bring the next one.
    """
    stood = now_ms - (card.posted_at_ms or 0) >= _STOOD_MS
    times = 0 if stood else int(card.extra.get(_TIMES, 0))
    pause_ms = min(_LONGEST_PAUSE_MS, 1000 * (2 ** min(max(0, times - _AT_ONCE + 1), 10) - 1))
    return replace(
        card,
        shown_version=0,
        delivered=False,
        claim="" if card.delivered else card.claim,
        attempts=0,  # of editing what is gone
        retry_at_ms=now_ms + pause_ms if pause_ms else 0,
        extra={**card.extra, _TIMES: times + 1},
    )


async def card_hidden(world: World, surface: str, message_id: str) -> bool:
    """Note that a card shows nothing any more, and have it shown again; return False if it is no
    current card.

    Nothing begins before it shows again; what was approved on it before stands.
    """
    moment = world.moment()
    return await world.write(lambda tx: note_hidden(tx, moment, surface, message_id))


def note_hidden(tx: Transaction, moment: Moment, surface: str, message_id: str) -> bool:
    """Note the same within a unit."""
    card = tx.cards.find(surface, message_id)
    if card is not None and card.shown_version == HIDDEN and message_id == card.message_ids[-1]:
        return True
    found = _noted(tx, moment, EventKind.CARD_HIDDEN, surface, message_id)
    if found is None:
        return False
    tx.cards.put(_to_be_shown(found[0], moment.now_ms))
    return True


def _to_be_shown(card: Card, now_ms: int) -> Card:
    """Return the row of a card that was emptied: it shows less now than people ever decide on."""
    times = int(card.extra.get(_HIDDEN_TIMES, 0))
    pause_ms = min(_LONGEST_PAUSE_MS, 1000 * (2 ** min(times, 10) - 1))
    return replace(
        card,
        shown_version=HIDDEN,
        delivered=False,
        claim="",
        retry_at_ms=now_ms + pause_ms if pause_ms else 0,
        extra={**card.extra, _HIDDEN_TIMES: times + 1},
    )


async def card_cleared(
    world: World, surface: str, message_id: str, signal: Signal | None
) -> Card | None:
    """Note that somebody cleared a card of its emoji, all (`signal` None) or one kind.

    Return the card, None if it is no current card.
    """
    moment = world.moment()

    def unit(tx: Transaction) -> Card | None:
        found = _noted(tx, moment, EventKind.CARD_CLEARED, surface, message_id)
        if found is None:
            return None
        card, _ = found
        if signal is not Signal.STOP:
            note_cleared(tx, card, moment.now_ms)
        return card

    return await world.write(unit)


def _noted(
    tx: Transaction, moment: Moment, kind: EventKind, surface: str, message_id: str
) -> tuple[Card, Proposal] | None:
    """Write the entry; return the card and its proposal, None if no card stands in this message."""
    card = tx.cards.find(surface, message_id)
    proposal = tx.proposals.get(card.proposal_id) if card else None
    if card is None or proposal is None or message_id != card.message_ids[-1]:
        return None
    details = {"surface": surface, "message_id": message_id}
    record(tx, moment, kind, SENTINEL, proposal=proposal, details=details)
    return card, proposal
