"""A card that cannot be shown: a person must know, and nothing executes until it stands."""

from __future__ import annotations

from lifecycle.door import amend, call_for_attention
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Attention


def undelivered(tx: Transaction, moment: Moment, proposal_id: str, surface: str, why: str) -> None:
    """Mark `card_undelivered`, once, where the card of an open proposal stands on no surface."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None or proposal.terminal or proposal.attention is not None:
        return
    if any(card.delivered for card in tx.cards.of(proposal_id)):
        return
    words = f"Its card cannot be shown on {surface}: {why}"
    call_for_attention(tx, moment, proposal, Attention.CARD_UNDELIVERED, words, SENTINEL)


def healed(tx: Transaction, moment: Moment, proposal_id: str) -> None:
    """Take `card_undelivered` back once the card stands."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None or proposal.attention is not Attention.CARD_UNDELIVERED:
        return
    if any(card.delivered for card in tx.cards.of(proposal_id)):
        amend(tx, moment, proposal, "card_delivered", SENTINEL, attention=None, attention_why="")
