"""The words that follow a bare ❌, and the audit row of what had no effect (design section 6)."""

from __future__ import annotations

from lifecycle.acts import Act, Reviewed, plain_words
from lifecycle.answers import Reply
from lifecycle.books import Transaction
from lifecycle.door import amend, record
from lifecycle.ending import tell_proposer
from lifecycle.errors import ReviewRefused
from lifecycle.moment import Moment
from lifecycle.proposal import ActorKind, Identity, Proposal


def give_reason(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Take up the words that follow a bare ❌, and let the proposer have them."""
    proposal = tx.proposals.get(act.proposal_id)
    person = act.sender.id or ""
    due_ms = proposal.reason_due_ms if proposal else None
    by_this_person = proposal is not None and proposal.decided_by == act.sender.identity
    if proposal is None or due_ms is None or moment.now_ms >= due_ms or not by_this_person:
        raise ReviewRefused("already_decided", "No decision of yours waits for a reason here.")
    tx.reviews.give_reason(proposal.proposal_id, person, act.reason)
    explained = amend(
        tx,
        moment,
        proposal,
        "reason_given",
        Identity(ActorKind.PERSON, person),
        sender=act.sender,
        details={"why": act.reason},
        explanation=act.reason,
        reason_due_ms=None,
    )
    _explain_task(tx, moment, explained)
    tell_proposer(tx, moment, explained)
    reply = Reply("Your reason is passed on.", None, explained.proposal_id, explained.state.value)
    return Reviewed(reply, explained)


def reason_wait_over(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Tell the proposer without a reason: nobody gave one in time."""
    told = amend(
        tx,
        moment,
        proposal,
        "no_reason_given",
        proposal.decided_by or proposal.actor,
        reason_due_ms=None,
    )
    tell_proposer(tx, moment, told)
    return told


def _explain_task(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    if proposal.task_id is not None:
        tx.backlog.put_back(
            proposal.task_id,
            proposal.proposal_id,
            proposal.reason or "",
            proposal.explanation,
            moment.now_ms,
        )


def note_ignored(tx: Transaction, moment: Moment, act: Act, code: str) -> None:
    """Write the one audit row of an attempt that had no effect."""
    sender = act.sender
    if sender.event_id is not None and not tx.flags.first_time(
        sender.surface, sender.event_id, moment.now_ms
    ):
        return
    record(
        tx,
        moment,
        "ignored",
        sender.identity,
        proposal=tx.proposals.get(act.proposal_id),
        sender=sender,
        reason=code,
        details={
            "account": plain_words(sender.account),
            "proposal_id": plain_words(act.proposal_id, 64),
            "found_late": act.found_late,
        },
    )
