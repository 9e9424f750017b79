"""The trail tells in which messages cards stand, so that a decision is known for its proposal's.

A row of a card alone could be pointed at another card; what people said of that would count here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lifecycle.audit import AuditEntry
from lifecycle.door import record
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Proposal
from lifecycle.records import Card
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, CardKind

CARD: Final = "card"


def note_card(tx: Transaction, moment: Moment, card: Card, message_id: str) -> None:
    """Write to the trail that this card stands in this message."""
    proposal = tx.proposals.get(card.proposal_id)
    details = {"surface": card.surface, "message": message_id}
    record(tx, moment, EventKind.CARD_POSTED, SENTINEL, proposal=proposal, details=details)


def about_its_cards(trail: Sequence[AuditEntry]) -> Iterator[str]:
    """Yield a sentence for every decision on a message in which no card of the proposal stood.

    Trails that an older version began do not tell where cards stand; `known_by` came with that.
    """
    posted: set[tuple[object, object]] = set()
    told = _tells_of_cards(trail)
    for entry in trail:
        details = entry.event.details
        if entry.event.kind == EventKind.CARD_POSTED:
            posted.add((details.get("surface"), details.get("message")))
        elif told and CARD in details and (entry.event.surface, details[CARD]) not in posted:
            yield f"entry {entry.seq} was given on {details[CARD]}, in which no card of it stood"


def was_shown(proposal: Proposal, trail: Sequence[AuditEntry]) -> bool:
    """Return whether a card that people are to see was posted anywhere: no card, no window.

    The row of the card alone could have been set to delivered. True if the tier has no live card,
    or an older version began the trail.
    """
    if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE or not _tells_of_cards(trail):
        return True
    return any(entry.event.kind == EventKind.CARD_POSTED for entry in trail)


def about_its_showing(proposal: Proposal, trail: Sequence[AuditEntry]) -> Iterator[str]:
    """Yield a sentence if it began before people could see it."""
    begun = (i for i, entry in enumerate(trail) if entry.event.target == State.EXECUTING)
    at = next(begun, None)
    if at is not None and not was_shown(proposal, trail[:at]):
        yield f"entry {trail[at].seq} began it, and no card of it stood anywhere"


def _tells_of_cards(trail: Sequence[AuditEntry]) -> bool:
    return bool(trail) and "known_by" in trail[0].event.details
