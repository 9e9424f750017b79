"""Count a ✅: of a person or of the orchestrator; and take an approval back (section 6)."""

from __future__ import annotations

from typing import Any, NoReturn

from lifecycle.answers import Sender
from lifecycle.copied import is_of_a_copy
from lifecycle.counting import approvals, is_lost
from lifecycle.door import amend, record
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.people.acts import (
    Act,
    Reviewed,
    decided,
    found,
    ignored,
    review_details,
    review_of,
)
from lifecycle.people.as_judged import judged_by_now, seen_as_judged
from lifecycle.people.early import complete_early, may_end_early
from lifecycle.people.overtaken import (
    heard_details,
    not_taken_back_since,
    note_off,
    tell_of_newer,
)
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity, Proposal
from lifecycle.quorum import may_approve
from lifecycle.review import Decision
from lifecycle.state import State
from lifecycle.tier import Puller
from lifecycle.verdicts.effective_terms import revoke_permit
from lifecycle.verdicts.judge import opening_changes, orchestrator_may_open


def approve(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Count a ✅. Raises ReviewRefused if it does not count."""
    proposal = found(tx, moment, act)
    if proposal.terminal:
        return decided(tx, moment, act, proposal)
    if _is_orchestrator(moment, act.sender):
        _newly_given(tx, proposal, act)
        return _orchestrated(tx, moment, proposal, act)
    person = _approver(moment, proposal, act)
    _newly_given(tx, proposal, act)
    not_taken_back_since(tx, moment, proposal, act)
    if proposal.state is State.EXECUTING and not may_end_early(proposal):
        return decided(tx, moment, act, proposal)  # no reason, and no whole card, would help
    _fit_to_be_approved(tx, proposal, act)
    if proposal.state is State.EXECUTING:
        return complete_early(tx, moment, proposal, act)
    judged_by_now(moment, proposal)
    before = approvals(tx.reviews.of(proposal.proposal_id), moment.policy, proposal, act.lost)
    if person in before:
        return _counted_anew(tx, moment, proposal, act)
    seen_as_judged(tx, moment, proposal, act)
    tx.reviews.add(review_of(proposal, moment, act, person, Decision.APPROVE))
    return _counted(tx, moment, proposal, act, person)


def _counted_anew(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> Reviewed:
    """Open a proposal whose approvals suffice, now that all of them are confirmed.

    The sender approved it before, when some approval could not be confirmed. Raises ReviewRefused
    already_counted if the approvals still do not suffice.
    """
    reviews = tx.reviews.of(proposal.proposal_id)
    counted = approvals(reviews, moment.policy, proposal, act.lost)
    if not _reached(proposal, counted):
        words = "Your approval counts already."
        others = counted != approvals(reviews, moment.policy, proposal)
        raise ReviewRefused("already_counted", words, passing=others)
    changes = opening_changes(tx, moment.policy, proposal, act.lost)
    opened = _tallied(tx, moment, proposal, act, counted, **changes)
    words = f"All {len(counted)} approvals are confirmed by now."
    return Reviewed.of(opened, words)


def _reached(proposal: Proposal, counted: list[str]) -> bool:
    waits = proposal.state is State.SENTINEL_APPROVED and proposal.opener is None
    return waits and len(counted) >= proposal.quorum


def _tallied(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    act: Act,
    counted: list[str],
    **changes: Any,
) -> Proposal:
    """Store a new count of approvals, without a new approval, and the `changes` that follow."""
    return amend(
        tx,
        moment,
        proposal,
        EventKind.QUORUM_COUNTED,
        act.sender.identity or proposal.actor,
        sender=act.sender,
        details={"approvals": len(counted), "quorum": proposal.quorum},
        **changes,
    )


def take_back(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Withdraw the sender's own ✅ on every surface, as long as execution has not begun.

    It works from a card that another has replaced, too: the ✅ may have been given there.
    """
    proposal = found(tx, moment, act, any_card=True)
    person = act.sender.id or ""
    if proposal.state not in (State.PENDING, State.SENTINEL_APPROVED):
        return decided(tx, moment, act, proposal)
    if tx.reviews.void(proposal.proposal_id, person, "taken back") == 0:
        note_off(tx, act.proposal_id, act.sender, moment.now_ms)
        words = "You had no approval here."
        return ignored(tx, moment, act, proposal, "already_decided", words)
    sender, when = act.sender, heard_details(moment, act.sender)
    by, kind = sender.identity, EventKind.APPROVAL_TAKEN_BACK
    record(tx, moment, kind, by, proposal=proposal, sender=sender, details=when)
    tell_of_newer(tx, moment, proposal, act)
    left = approvals(tx.reviews.of(proposal.proposal_id), moment.policy, proposal, act.lost)
    changed = _unopened(tx, moment, proposal, act, left)
    words = f"Your approval is taken back: {len(left)} of {proposal.quorum}."
    return Reviewed.of(changed, words)


def _unopened(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, left: list[str]
) -> Proposal:
    by_person = proposal.opener_puller is Puller.PERSON
    keeps = not by_person or len(left) >= max(1, proposal.quorum)  # 0: somebody wrote that
    opener = proposal.opener if keeps else None
    if opener is not None and by_person and opener.id not in left:
        opener = Identity(ActorKind.PERSON, left[-1])  # in nobody's name who took it back
    revoked = {} if opener else revoke_permit(tx, moment, proposal)
    return _tallied(
        tx,
        moment,
        proposal,
        act,
        left,
        opener=opener,
        opener_puller=proposal.opener_puller if opener else None,
        **({"waiting_for": None} if opener is None else {}) | revoked,
    )


def _counted(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, person: str
) -> Reviewed:
    """Count a new approval, and set the opener if it was the last one that was needed."""
    counted = approvals(tx.reviews.of(proposal.proposal_id), moment.policy, proposal, act.lost)
    opener, reached = proposal.opener, _reached(proposal, counted)
    proposal = amend(
        tx,
        moment,
        proposal,
        EventKind.REVIEWED,
        Identity(ActorKind.PERSON, person),
        sender=act.sender,
        details=review_details(act, Decision.APPROVE)
        | {"approvals": len(counted), "quorum": proposal.quorum},
        **(opening_changes(tx, moment.policy, proposal, act.lost) if reached else {}),
    )
    words = f"Approved by {person}: {len(counted)} of {max(1, proposal.quorum)}."
    if opener is not None:
        words = f"Approved by {person} too; {opener} was first and has opened it."
    return Reviewed.of(proposal, words)


def _orchestrated(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> Reviewed:
    """Open a proposal for the orchestrator's ✅, if auto-approval may; it may do nothing else."""
    allowed = orchestrator_may_open(moment.policy, proposal)
    if not allowed or proposal.state is not State.SENTINEL_APPROVED:
        if proposal.actor == act.sender.identity:
            raise ReviewRefused("own_proposal", "Nobody approves a proposal of their own.")
        raise ReviewRefused(
            "not_auto_approvable",
            "The orchestrator opens PROPOSE proposals that passed Sentinel and need no people.",
        )
    if proposal.opener is not None:
        return decided(tx, moment, act, proposal)
    judged_by_now(moment, proposal)
    seen_as_judged(tx, moment, proposal, act)
    by = Identity(ActorKind.AGENT, act.sender.id or "")
    opened = amend(
        tx,
        moment,
        proposal,
        EventKind.OPENED,
        by,
        sender=act.sender,
        details={"as": Puller.ORCHESTRATOR.value},
        opener=by,
        opener_puller=Puller.ORCHESTRATOR,
    )
    words = f"Opened in the name of {by.id}."
    return Reviewed.of(opened, words)


def _is_orchestrator(moment: Moment, sender: Sender) -> bool:
    named = moment.policy.orchestrator
    by_agent = sender.kind is ActorKind.AGENT and sender.is_known_to(moment.policy)
    return by_agent and named is not None and sender.id == named


def _approver(moment: Moment, proposal: Proposal, act: Act) -> str:
    sender = act.sender
    if sender.identity is not None and sender.identity == proposal.actor:
        raise ReviewRefused("own_proposal", "Nobody approves a proposal of their own.")
    if sender.kind is not ActorKind.PERSON or sender.id is None:
        _not_a_reviewer()
    if is_lost(act.lost, sender.id, sender.surface):
        _not_a_member(moment, act)
    tool = moment.policy.tools.get(proposal.tool)
    if tool is None:
        _not_a_reviewer()
    objection = may_approve(moment.policy, tool, proposal.actor, sender.id)
    if objection is not None:
        raise ReviewRefused(*objection)
    return sender.id


def _not_a_reviewer() -> NoReturn:
    raise ReviewRefused(
        "not_a_reviewer", "Only people of the reviewers' group decide here; nothing was changed."
    )


def _not_a_member(moment: Moment, act: Act) -> NoReturn:
    if not act.sender.is_known_to(moment.policy):
        words = (
            "This account was somebody else's when that was given, or is by now; nothing was "
            "changed. Whoever has it now may give it anew."
        )
        raise ReviewRefused("not_a_reviewer", words)
    if not act.unsure:
        _not_a_reviewer()
    words = (
        "Your membership here cannot be read just now; nothing was changed. A ✅ on the card is "
        "looked at again in a few minutes; a command or a button must be given again."
    )
    raise ReviewRefused("not_a_reviewer", words, passing=True)


def _newly_given(tx: Transaction, proposal: Proposal, act: Act) -> None:
    """Refuse a ✅ found on a card of a restored copy: what it opened may be done already."""
    if act.found_late and is_of_a_copy(tx, proposal):
        raise ReviewRefused(
            "stale_card",
            "The database was brought back from a copy, and this ✅ may be from before; what it "
            "opened may be done. Where it still has to be done, take the ✅ off and give it again, "
            f"or type: approve {proposal.proposal_id}",
        )


def _fit_to_be_approved(tx: Transaction, proposal: Proposal, act: Act) -> None:
    if proposal.verdict is not None and proposal.verdict.needs_reason and not act.reason:
        raise ReviewRefused(
            "reason_required",
            "Sentinel noted something; say why it is right all the same: "
            f"approve {proposal.proposal_id} <reason>",
        )
    cards = tx.cards.of(proposal.proposal_id)
    here = [c for c in cards if c.surface == act.sender.surface] or cards
    if here and not any(card.full for card in here):
        raise ReviewRefused(
            "not_fully_shown",
            "The card does not show the whole of it and the attachment failed; it cannot be "
            "approved until it does.",
        )
