"""Writes down where a card is about to be posted and where it stands, in its row of the store.

`Delivery` runs these functions within units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.chat.hearing.known import deleted_since, posted_at, shown_since
from bot.chat.hearing.left_behind import placed_in
from bot.chat.hearing.moderated import note_deleted, note_hidden
from bot.chat.hearing.standing_in import anew
from bot.chat.hearing.standing_in import claimed as begun_under
from bot.chat.showing.undelivered import healed
from bot.chat.surface import Posted
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.posted_cards import note_card
from lifecycle.records import Card


@dataclass(frozen=True, slots=True)
class Placed:
    """A card as it was before it was shown, the version that it shows now, and where.

    `posted` is None if a final card was deleted and not posted again.
    """

    card: Card
    version: int
    posted: Posted | None


def note_claim(tx: Transaction, card: Card, version: int, hands: int) -> None:
    """Note that this version is about to be posted under the card's claim; runs within a unit.

    `hands` is the state of the accounts: nothing on that message was given before it.
    """
    fresh = tx.cards.get(card.proposal_id, card.surface) or card
    claimed = replace(fresh, claim=card.claim, delivered=card.delivered)
    tx.cards.put(begun_under(posted_at(claimed, version), hands))


def note_placed(
    tx: Transaction, moment: Moment, placed: Placed, *, vanished: bool, emptied: bool
) -> None:
    """Note where a card stands and what it shows; runs within a unit.

    `vanished` says that its message was deleted, `emptied` that it showed nothing, before this was
    noted.
    """
    card, posted = placed.card, placed.posted
    fresh = tx.cards.get(card.proposal_id, card.surface) or card
    at_ms, ids, full = fresh.posted_at_ms, fresh.message_ids, fresh.full
    if posted is not None and deleted_since(card, fresh, posted.message_id):
        return  # the edited message was deleted or emptied meanwhile: the card is shown again
    moved = posted is not None and posted.message_id not in ids[-1:]
    if posted is not None:
        ids = (*ids, posted.message_id) if moved else ids
        at_ms, full = (moment.now_ms if moved else at_ms), posted.full
        if moved:
            note_card(tx, moment, card, posted.message_id)
            fresh = anew(fresh)
    claim = card.claim if posted is not None else ""  # nothing is posted under it any more
    stands = replace(fresh, message_ids=ids, posted_at_ms=at_ms, full=full, claim=claim)
    stands = placed_in(stands, posted)
    shown = replace(stands, shown_version=placed.version, delivered=posted is not None)
    tx.cards.put(shown_since(replace(shown, attempts=0, retry_at_ms=0, why=""), moment.now_ms))
    where = moment, card.surface, ids[-1] if ids else ""
    # Only for a new message: the row heard by itself what became of the old one, and this edit may
    # have mended it.
    gone = moved and vanished and note_deleted(tx, *where)
    if not (gone or (moved and emptied and note_hidden(tx, *where))):
        healed(tx, moment, card.proposal_id)
