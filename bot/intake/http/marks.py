"""Compute the marks of proposals and questions: a wait for one ends when its mark changes."""

from __future__ import annotations

from collections.abc import Callable

from bot.intake.http.waiting import Mark
from bot.views import as_seen
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.questions import question_of

_PROPOSAL = "proposal:"
_QUESTION = "question:"


def proposal_key(proposal_id: str) -> str:
    """Return the key of a wait for a proposal."""
    return _PROPOSAL + proposal_id


def question_key(question_id: str) -> str:
    """Return the key of a wait for the answer to a question."""
    return _QUESTION + question_id


def mark(proposal: Proposal, now_ms: int) -> str:
    """Return the state as it counts now, with a sign if a permit waits to be redeemed."""
    seen = as_seen(proposal, now_ms)
    return f"{seen.state}{'+permit' if seen.permit_waits else ''}"


def mark_of(now_ms: Callable[[], int]) -> Callable[[Transaction, str], Mark]:
    """Return the view that finds the mark of a key."""

    def view(tx: Transaction, key: str) -> Mark:
        if key.startswith(_QUESTION):
            asked = question_of(tx, key.removeprefix(_QUESTION))
            return None if asked is None or asked["answer"] is None else "answered"
        found = tx.proposals.get(key.removeprefix(_PROPOSAL))
        return mark(found, now_ms()) if found is not None else None

    return view
