"""Calls people when a card cannot be shown on any surface: nothing executes until one stands.

`Delivery` and `placed` run these functions within units.
"""

from __future__ import annotations

from lifecycle.callbacks import call_back, tell
from lifecycle.door import amend, call_for_attention
from lifecycle.ending import answer_of
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Attention, Proposal


def undelivered(tx: Transaction, moment: Moment, proposal_id: str, surface: str, why: str) -> None:
    """Mark `card_undelivered` if the card of an open proposal stands on no surface, and tell its
    proposer.

    A proposal that already needs attention is left as it is.
    """
    proposal = tx.proposals.get(proposal_id)
    if proposal is None or proposal.terminal or proposal.attention is not None:
        return
    if any(card.delivered for card in tx.cards.of(proposal_id)):
        return
    words = f"Its card cannot be shown on {surface}: {why}"
    marked = call_for_attention(tx, moment, proposal, Attention.CARD_UNDELIVERED, words, SENTINEL)
    _tell_proposer(tx, moment, marked, words)


def _tell_proposer(tx: Transaction, moment: Moment, proposal: Proposal, words: str) -> None:
    key = f"undelivered:{proposal.proposal_id}:{proposal.version}"
    text = f"{proposal.proposal_id}: {words}. Nothing is executed before people can see it."
    tell(tx, moment, proposal, key, "note", {"text": text})
    body = answer_of(proposal).as_json()
    call_back(tx, moment, proposal.actor.id, key, "attention", body, proposal.proposal_id)


def healed(tx: Transaction, moment: Moment, proposal_id: str) -> None:
    """Take `card_undelivered` back once the card stands on some surface."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None or proposal.attention is not Attention.CARD_UNDELIVERED:
        return
    if any(card.delivered for card in tx.cards.of(proposal_id)):
        amend(
            tx,
            moment,
            proposal,
            EventKind.CARD_DELIVERED,
            SENTINEL,
            attention=None,
            attention_why="",
        )
