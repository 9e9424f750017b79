"""Withdraw a proposal before it begins, for its proposer."""

from __future__ import annotations

from lifecycle.door import advance
from lifecycle.errors import ReviewRefused
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed, decided_words, found, ignored
from lifecycle.ports import Transaction
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller


def withdraw(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Withdraw a proposal that has not begun; only its proposer may.

    Raises ReviewRefused not_the_proposer.
    """
    proposal = found(tx, moment, act)
    if act.sender.identity is None or act.sender.identity != proposal.actor:
        raise ReviewRefused("not_the_proposer", "Only its proposer can withdraw a proposal.")
    if proposal.state not in (State.PENDING, State.SENTINEL_APPROVED):
        return ignored(tx, moment, act, proposal, "already_decided", decided_words(proposal))
    withdrawn = advance(
        tx,
        moment,
        proposal,
        Trigger.REJECT,
        act.sender.identity,
        Puller.PROPOSER,
        reason="withdrawn",
        explanation=act.reason or "Withdrawn by its proposer.",
        sender=act.sender,
    )
    return Reviewed.of(withdrawn, f"{act.proposal_id} is withdrawn.")
