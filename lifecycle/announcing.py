"""Stores announcements and wishes for cards in the unit of the change they tell of (ADR 0003)."""

from __future__ import annotations

from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Message
from lifecycle.tier import TIER_POLICIES, CardKind


def announce(
    tx: Transaction, moment: Moment, key: str, words: str, proposal_id: str | None = None
) -> None:
    """Put one announcement for each surface into the outbox, where it stays until it is delivered.

    `key` makes it once: the same key again adds nothing.
    """
    for surface in moment.surfaces:
        tx.outbox.add(
            Message(
                key=f"{key}@{surface}",
                surface=surface,
                recipient="",
                kind="announcement",
                body={"text": words},
                created_at_ms=moment.now_ms,
                proposal_id=proposal_id,
            )
        )


def want_cards(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Note for every surface that a card of this version is wanted, if the tier has cards.

    AUTO and AUTO+ have a card from the moment on in which they call for a person.
    """
    surfaces = moment.surfaces
    if not _has_card(proposal):  # one that called for a person keeps its card to the end
        surfaces = tuple(card.surface for card in tx.cards.of(proposal.proposal_id))
    for surface in surfaces:
        tx.cards.want(proposal.proposal_id, surface, proposal.version)


def _has_card(proposal: Proposal) -> bool:
    match TIER_POLICIES[proposal.tier].card:
        case CardKind.LIVE:
            return True
        case CardKind.NOTE_AFTER:
            return proposal.terminal or proposal.attention is not None
        case CardKind.NONE:
            return proposal.attention is not None
