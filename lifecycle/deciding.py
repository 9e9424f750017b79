"""Finds where a person decided what the bot then does in their name, for the trail of the call."""

from __future__ import annotations

from lifecycle.answers import Sender
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity, Verb
from lifecycle.review import Decision


def decided_by(tx: Transaction, proposal_id: str, by: Identity, verb: Verb) -> Sender | None:
    """Return the person as the sender of their last decision for this verb: with its surface and
    event.

    A call may begin, or end, long after the ✅ or ❌ that led to it, so the entry that names the
    person takes both from the review. None if `by` is no person, or has no such review.
    """
    if by.kind is not ActorKind.PERSON:
        return None
    wanted = Decision.ROLL_BACK if verb is Verb.ROLL_BACK else Decision.APPROVE
    mine = [r for r in tx.reviews.of(proposal_id) if r.person == by.id and r.decision is wanted]
    if not mine:
        return None
    last = mine[-1]
    return Sender(last.surface, by.kind, by.id, event_id=last.event_id)
