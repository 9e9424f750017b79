"""Take the words that follow a bare ❌ as its reason (design section 6).

A proposal stopped by a bare ❌ waits for words a while before its proposer is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lifecycle.answers import Sender
from lifecycle.door import amend
from lifecycle.ending import explain_task, tell_proposer
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity, Proposal


def give_reason(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Store the words that follow a bare ❌, and tell the proposer.

    If the proposal is still on its way to its end, that end tells them. Raises ReviewRefused
    already_decided if nothing of the sender waits for a reason, not_a_reviewer if the account is
    another's by now.
    """
    proposal = tx.proposals.get(act.proposal_id)
    person = act.sender.id or ""
    due_ms = proposal.reason_due_ms if proposal else None
    by_this_person = proposal is not None and stopper_of(proposal) == act.sender.identity
    if proposal is None or due_ms is None or moment.now_ms >= due_ms or not by_this_person:
        raise ReviewRefused("already_decided", "No decision of yours waits for a reason here.")
    if not act.sender.is_known_to(moment.policy):
        words = "This account is another one's by now; nothing was changed."
        raise ReviewRefused("not_a_reviewer", words)
    tx.reviews.give_reason(proposal.proposal_id, person, act.reason)
    if not proposal.terminal:
        return _passed_on(_explained_early(tx, moment, proposal, act))
    explained = amend(
        tx,
        moment,
        proposal,
        EventKind.REASON_GIVEN,
        Identity(ActorKind.PERSON, person),
        sender=act.sender,
        details={"why": act.reason},
        explanation=act.reason,
        reason_due_ms=None,
    )
    explain_task(tx, moment, explained)
    tell_proposer(tx, moment, explained)
    return _passed_on(explained)


def _passed_on(proposal: Proposal) -> Reviewed:
    return Reviewed.of(proposal, "Your reason is passed on.")


def stopper_of(proposal: Proposal) -> Identity | None:
    """Return who stopped it, also while it is still on its way to its end; None if nobody did."""
    execution = proposal.execution
    if proposal.terminal:
        return proposal.decided_by
    if proposal.kept_stop is not None:
        return Identity(ActorKind.PERSON, proposal.kept_stop.person)
    return execution.cause.by if execution is not None and execution.cause is not None else None


def bare_among(kept: Iterable[Mapping[str, Any]], proposal_id: str, sender: Sender) -> bool:
    """Return True if one of these stops in the spool is a bare ❌ of this sender."""
    theirs = (each for each in kept if each["proposal_id"] == proposal_id and each.get("bare"))
    return any((each.get("kind"), each.get("id")) == (sender.kind, sender.id) for each in theirs)


def _explained_early(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> Proposal:
    """Store the words with the stop or the claim, so that the end tells them to the proposer."""
    kept, execution = proposal.kept_stop, proposal.execution
    changes: dict[str, Any] = {}
    if kept is not None:
        changes["kept_stop"] = replace(kept, reason=act.reason)
    elif execution is not None and execution.cause is not None:
        cause = replace(execution.cause, words=act.reason)
        changes["execution"] = replace(execution, cause=cause)
    return amend(
        tx,
        moment,
        proposal,
        EventKind.REASON_GIVEN,
        act.sender.identity or proposal.actor,
        sender=act.sender,
        details={"why": act.reason},
        reason_due_ms=None,
        **changes,
    )


def reason_wait_over(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Tell the proposer of the end without a reason, since nobody gave one in time."""
    told = amend(
        tx,
        moment,
        proposal,
        EventKind.NO_REASON_GIVEN,
        proposal.decided_by or proposal.actor,
        reason_due_ms=None,
    )
    tell_proposer(tx, moment, told)
    return told
