"""Process a ❌: it rejects before execution, and rolls back within the window."""

from __future__ import annotations

from typing import Final, NoReturn, assert_never

from lifecycle.calls.claiming import claim_roll_back
from lifecycle.copied import whether_run
from lifecycle.door import advance, amend
from lifecycle.ending import REASON_WAIT_MS
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.moment import Moment
from lifecycle.people.acts import (
    Act,
    Reviewed,
    as_given,
    closed_over,
    decided_words,
    found,
    given_details,
    ignored,
    in_time,
    late_words,
    looked_up,
    review_of,
    tell_of_a_late_stop,
)
from lifecycle.people.membership import by_who_may
from lifecycle.policy import ActionType, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Cause,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.quorum import may_stop, may_stop_anything
from lifecycle.review import Decision
from lifecycle.state import State, Trigger
from lifecycle.tier import Puller
from lifecycle.verdicts.judge import may_orchestrate

_TOO_LATE: Final = "It cannot be taken back any more. "
_NO_WINDOW: Final = "This tool has no rollback window; nothing can be taken back."


def stop(tx: Transaction, moment: Moment, act: Act) -> Reviewed:
    """Give a ❌ its effect in this state of its proposal. Raises ReviewRefused if it has none."""
    proposal = found(tx, moment, act)
    act = as_given(moment, act, proposal)
    if proposal.terminal:
        if act.found_late and closed_over(proposal) and _is_stopper(moment, proposal, act):
            tell_of_a_late_stop(tx, moment, act, proposal)
        return ignored(tx, moment, act, proposal, *_over(proposal))
    act = by_who_may(act, lambda each: _may_stop(moment, proposal, each))
    if _by_orchestrator(moment, proposal, act):
        return _rejected_by_orchestrator(tx, moment, proposal, act)
    person = _stopper(moment, proposal, act)
    match proposal.state:
        case State.PENDING | State.SENTINEL_APPROVED:
            return _rejected(tx, moment, proposal, act, person)
        case State.EXECUTING:
            return _taken_back(tx, moment, proposal, act, person)
        case State.COMPLETED | State.ROLLED_BACK | State.REJECTED:
            raise ReviewRefused("already_decided", decided_words(proposal))
        case _:
            assert_never(proposal.state)


def check_standing(moment: Moment, act: Act) -> Act:
    """Return the act in the name of whichever holder of the account may stop anything at all.

    Raises ReviewRefused not_a_reviewer if neither may.
    """
    act = by_who_may(act, lambda each: _has_standing(moment, each))
    if not _has_standing(moment, act):
        _no_stopper()
    return act


def _has_standing(moment: Moment, act: Act) -> bool:
    person = act.sender.id or ""
    may = person not in act.lost and may_stop_anything(moment.policy, person)
    return may or _is_orchestrator(moment, act)


def check_effect(tx: Transaction, moment: Moment, act: Act) -> None:
    """Raise what `stop` would answer, if that is final whatever comes until it is carried out.

    It is asked of a stop that the store could not take and that was kept on disk: one without
    effect need not stay there. Writes nothing. Raises ReviewRefused, ProposalNotFound.
    """
    proposal = looked_up(tx, act)
    if proposal.terminal:
        raise ReviewRefused(*_over(proposal))
    if not in_time(moment, act, proposal):
        raise ReviewRefused("already_decided", late_words(tx, proposal))
    act = by_who_may(act, lambda each: _may_stop(moment, proposal, each))
    if not _by_orchestrator(moment, proposal, act):
        _stopper(moment, proposal, act)


def _over(proposal: Proposal) -> tuple[str, str]:
    """Return code and words for a stop of a proposal that has ended."""
    late = proposal.state is State.COMPLETED
    code = "window_closed" if late else "already_decided"
    return code, f"{_TOO_LATE if late else ''}{decided_words(proposal)}"


def _is_orchestrator(moment: Moment, act: Act) -> bool:
    named = moment.policy.orchestrator
    return named is not None and act.sender.identity == Identity(ActorKind.AGENT, named)


def _by_orchestrator(moment: Moment, proposal: Proposal, act: Act) -> bool:
    waits = proposal.state in (State.PENDING, State.SENTINEL_APPROVED)
    return waits and _is_orchestrator(moment, act) and may_orchestrate(moment.policy, proposal)


def _rejected_by_orchestrator(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act
) -> Reviewed:
    by = Identity(ActorKind.AGENT, act.sender.id or "")
    rejected = advance(
        tx,
        moment,
        proposal,
        Trigger.REJECT,
        by,
        Puller.ORCHESTRATOR,
        reason="rejected_by_orchestrator",
        explanation=act.reason or f"Rejected by the orchestrator {by.id}.",
        sender=act.sender,
    )
    return Reviewed.of(rejected, f"{rejected.proposal_id} is rejected.")


def _stopper(moment: Moment, proposal: Proposal, act: Act) -> str:
    sender, tool = act.sender, moment.policy.tools.get(proposal.tool)
    if sender.kind is not ActorKind.PERSON or sender.id is None or sender.id in act.lost:
        _no_stopper()
    if tool is None:  # stopping works although the tool has left the config
        tool = ToolPolicy(proposal.tool, proposal.tier, ActionType.CUSTOM)
    objection = may_stop(moment.policy, tool, proposal.actor, sender.id)
    if objection is not None:
        raise ReviewRefused(*objection)
    return sender.id


def _may_stop(moment: Moment, proposal: Proposal, act: Act) -> bool:
    return _by_orchestrator(moment, proposal, act) or _is_stopper(moment, proposal, act)


def _is_stopper(moment: Moment, proposal: Proposal, act: Act) -> bool:
    try:
        _stopper(moment, proposal, act)
    except ReviewRefused:
        return False
    return True


def _no_stopper() -> NoReturn:
    raise ReviewRefused(
        "not_a_reviewer",
        "Only reviewers, operators and the agent's owner can stop this; nothing was changed.",
    )


def _rejected(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, person: str
) -> Reviewed:
    tx.reviews.add(review_of(proposal, moment, act, person, Decision.REJECT))
    rejected = advance(
        tx,
        moment,
        proposal,
        Trigger.REJECT,
        Identity(ActorKind.PERSON, person),
        Puller.PERSON,
        reason="rejected_by_person",
        explanation=act.reason or f"Rejected by {person}.",
        sender=act.sender,
        details={"found_late": act.found_late} | given_details(act),
        reason_due_ms=_reason_due_ms(moment, act),
    )
    words = f"{rejected.proposal_id} is rejected by {person}. {whether_run(tx, rejected)}"
    return Reviewed.of(rejected, words)


def _taken_back(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, person: str
) -> Reviewed:
    execution, failed = proposal.execution, proposal.attention is Attention.COMMIT_FAILED
    if execution is None or not (execution.windowed or failed):
        raise ReviewRefused("window_closed", f"{_NO_WINDOW} {decided_words(proposal)}")
    if execution.verb is Verb.ROLL_BACK:
        raise ReviewRefused("already_decided", _rolling_back(proposal))
    if execution.outcome is Outcome.UNKNOWN:
        return _kept(tx, moment, proposal, act, person)
    if execution.verb is Verb.COMMIT and execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("window_closed", f"{_TOO_LATE}{decided_words(proposal)}")
    if execution.outcome is Outcome.RUNNING:
        return _kept(tx, moment, proposal, act, person)
    return _roll_back_now(tx, moment, proposal, act, person)


def _rolling_back(proposal: Proposal) -> str:
    proposal_id = proposal.proposal_id
    if proposal.attention is Attention.ROLLBACK_INCOMPLETE:
        ways = f"retry {proposal_id}, or where that was done by hand: settle {proposal_id} happened"
        return f"{proposal_id} is not taken back, or only in part. A reviewer can: {ways}"
    if proposal.attention is Attention.OUTCOME_UNKNOWN:
        look = f"a reviewer looks, then: settle {proposal_id} happened | did-not-happen"
        return f"Whether {proposal_id} was rolled back is not known; {look}"
    return f"{proposal_id} is being rolled back."


def _roll_back_now(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, person: str
) -> Reviewed:
    tx.reviews.add(review_of(proposal, moment, act, person, Decision.ROLL_BACK))
    words = act.reason or f"Rolled back by {person}."
    cause = Cause(Identity(ActorKind.PERSON, person), Puller.PERSON, "rolled_back_by_person", words)
    due = amend(
        tx,
        moment,
        proposal,
        EventKind.STOPPED,
        Identity(ActorKind.PERSON, person),
        sender=act.sender,
        details={"why": act.reason, "found_late": act.found_late} | given_details(act),
        reason_due_ms=_reason_due_ms(moment, act),
    )
    claim = claim_roll_back(tx, moment, due, cause)
    words = f"{proposal.proposal_id} is being rolled back for {person}."
    return Reviewed.of(claim.proposal, words, claim=claim)


def _kept(tx: Transaction, moment: Moment, proposal: Proposal, act: Act, person: str) -> Reviewed:
    """Keep a ❌ whose tool has not answered; it is carried out as soon as the answer is known.

    The first one decides. Later ones are stored as reviews and change nothing.
    """
    first = proposal.kept_stop
    tx.reviews.add(review_of(proposal, moment, act, person, Decision.ROLL_BACK))
    kept = amend(
        tx,
        moment,
        proposal,
        EventKind.STOP_KEPT,
        Identity(ActorKind.PERSON, person),
        sender=act.sender,
        details={"why": act.reason} | given_details(act),
        reason_due_ms=proposal.reason_due_ms if first else _reason_due_ms(moment, act),
        kept_stop=first
        or KeptStop(
            person,
            act.reason or f"Rolled back by {person}.",
            moment.now_ms,
            act.sender.surface,
        ),
    )
    return Reviewed.of(kept, _kept_words(kept))


def _kept_words(proposal: Proposal) -> str:
    """Return what becomes of a kept ❌; nobody can take back what is committed already."""
    execution, proposal_id = begun(proposal), proposal.proposal_id
    if execution.outcome is Outcome.RUNNING:
        return "Kept: it is taken back as soon as the tool's answer is known."
    look = f"A reviewer looks, then: settle {proposal_id} happened | did-not-happen"
    if execution.verb is Verb.EXECUTE:
        return f"Kept: whether it was done is not known; if it was, it is taken back. {look}"
    return (
        "Kept: whether it was carried out for good is not known. If it was not, it is taken back; "
        f"if it was, it stays, and you are told. {look}"
    )


def _reason_due_ms(moment: Moment, act: Act) -> int | None:
    """Return until when a bare ❌ waits for words, in ms UTC; None if it brought some."""
    if act.reason or (act.card is None and not act.bare):
        return None
    return moment.now_ms + REASON_WAIT_MS
