"""In which messages the cards of a proposal stand: by them a decision is known for this one's.

Rows alone could be pointed at another card, and what people said of that would count here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lifecycle.audit import AuditEntry
from lifecycle.door import record
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL
from lifecycle.records import Card

#: The entry that tells of a message; `CARD` names, in the entry of a decision, where it was given.
POSTED: Final = "card_posted"
CARD: Final = "card"


def note_card(tx: Transaction, moment: Moment, card: Card, message_id: str) -> None:
    """Tell the trail that this card stands in this message."""
    proposal = tx.proposals.get(card.proposal_id)
    details = {"surface": card.surface, "message": message_id}
    record(tx, moment, POSTED, SENTINEL, proposal=proposal, details=details)


def about_its_cards(trail: Sequence[AuditEntry]) -> Iterator[str]:
    """Yield a sentence for every decision that was given on a message in which no card of it stood.

    Trails that an older version began do not tell where cards stand; `known_by` came with that.
    """
    posted: set[tuple[object, object]] = set()
    told = bool(trail) and "known_by" in trail[0].event.details
    for entry in trail:
        details = entry.event.details
        if entry.event.kind == POSTED:
            posted.add((details.get("surface"), details.get("message")))
        elif told and CARD in details and (entry.event.surface, details[CARD]) not in posted:
            yield f"entry {entry.seq} was given on {details[CARD]}, in which no card of it stood"
