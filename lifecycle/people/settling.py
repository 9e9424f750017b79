"""Settle a call whose outcome is unknown: a person says what became of it (section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NoReturn, assert_never

from lifecycle.agreeing.retelling import retold
from lifecycle.agreeing.told import APPROVED_EARLY, UNTOLD
from lifecycle.announcing import announce
from lifecycle.calls.concluding import after_execute, commit_not_done, roll_back_done
from lifecycle.calls.finishing import Concluded
from lifecycle.calls.mishaps import rollback_incomplete
from lifecycle.counting import is_lost
from lifecycle.door import advance, amend
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.moment import Moment
from lifecycle.people.acts import Act, Reviewed, found
from lifecycle.people.overtaken import said_of_this_call
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Cause,
    Execution,
    Identity,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.review import Decision
from lifecycle.state import Trigger
from lifecycle.text.masking import harmless
from lifecycle.tier import Puller

_STOPPED: Final = (
    "By the audit trail a ❌ waits for this, and the row does not keep it as it was given. "
    "Somebody changed the database. Take {0} back by hand, then: settle {0} did-not-happen"
)


def settle(tx: Transaction, moment: Moment, act: Act, *, happened: bool) -> Reviewed:
    """Write what a person found out about a call whose outcome nobody knew, and go on from there.

    Raises ReviewRefused nothing_to_settle, still_running, not_a_reviewer, digest_mismatch,
    stale_card.
    """
    moment = moment.by_now()  # a window that opens here is to have its full length
    proposal = found(tx, moment, act)
    by = reviewer(moment, proposal, act)
    said_of_this_call(tx, moment, proposal, act.sender)
    if proposal.attention is Attention.ENVELOPE_EXCEEDED and happened:
        return _seen(tx, moment, proposal, act, by)
    execution = proposal.execution
    if execution is not None and execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("still_running", "The tool has not answered yet; wait for it.")
    if execution is None or not _in_doubt(proposal, execution, happened=happened):
        words = f"No outcome of {proposal.proposal_id} is unknown."
        # What waits for a person is said with its remedy, which may be another command.
        raise ReviewRefused(
            "nothing_to_settle", f"{words} {harmless(proposal.attention_why)}".strip()
        )
    if happened and _passes_over_a_stop(tx, proposal, execution):
        raise ReviewRefused("digest_mismatch", _STOPPED.format(proposal.proposal_id))
    noted = _noted(tx, moment, proposal, act, by, happened=happened)
    if begun(noted).outcome is Outcome.DONE:
        return reviewed(Concluded(noted), "Settled: it is committed when its window closes.")
    concluded = (
        _happened(tx, moment, noted, by) if happened else _did_not_happen(tx, moment, noted, by)
    )
    return reviewed(concluded, "Settled.")


def _passes_over_a_stop(tx: Transaction, proposal: Proposal, execution: Execution) -> bool:
    """Return True if settling would let a ❌ pass that waits by the trail but not by the row.

    Somebody removed the ❌ or the window from the row, or made another call of the one that the ❌
    waits for. False if the trail cannot be read, since nobody knows then; what has no window is
    settled all the same.
    """
    try:
        told = retold(tx.audit.without_attempts(proposal.proposal_id))
    except RowUnreadable:
        return False
    stands = proposal.kept_stop is not None and told.verb in (execution.verb.value, UNTOLD)
    windowed = execution.windowed or told.window is None or told.window is UNTOLD
    return bool(told.stops) and not (stands and windowed)


def _noted(
    tx: Transaction, moment: Moment, proposal: Proposal, act: Act, by: Identity, *, happened: bool
) -> Proposal:
    """Store a person's word. A commit that did not happen is due again when its window closes."""
    execution = begun(proposal)
    details: dict[str, Any] = {"verb": execution.verb.value, "happened": happened}
    settled = replace(execution, doubted=False)
    if not happened and too_early(moment, execution) and proposal.kept_stop is None:
        details["window_goes_on"] = True
        settled = replace(
            settled, verb=Verb.EXECUTE, attempt=1, tries=1, outcome=Outcome.DONE, cause=None
        )
    return amend(
        tx,
        moment,
        proposal,
        EventKind.SETTLED,
        by,
        sender=act.sender,
        details=details,
        execution=settled,
        attention=None,
        attention_why="",
    )


def too_early(moment: Moment, execution: Execution) -> bool:
    """Return True if this is a commit by the clock whose window is still open.

    That can only be after a restore: the commit may have happened after the copy was made, and its
    window may still be open. Nothing but somebody's ✅ ends a window early, whatever else stands in
    the row; what was only staged never had one.
    """
    cause, closes_ms = execution.cause, execution.window_closes_at_ms
    if execution.verb is not Verb.COMMIT or execution.window_opens_at_ms is None:
        return False
    by_itself = cause is None or cause.reason != APPROVED_EARLY
    return by_itself and closes_ms is not None and moment.now_ms < closes_ms


def _in_doubt(proposal: Proposal, execution: Execution, *, happened: bool) -> bool:
    """Return True if there is something to settle.

    That is an unknown outcome, or a roll back that its tool could not finish and that somebody
    finished by hand (ADR 0012).
    """
    incomplete = proposal.attention is Attention.ROLLBACK_INCOMPLETE
    by_hand = happened and incomplete and execution.verb is Verb.ROLL_BACK
    return by_hand or execution.outcome is Outcome.UNKNOWN


def reviewer(moment: Moment, proposal: Proposal, act: Act) -> Identity:
    """Return who settles or retries. Raises ReviewRefused not_a_reviewer."""
    sender, tool = act.sender, moment.policy.tools.get(proposal.tool)
    if sender.kind is not ActorKind.PERSON or sender.id is None:
        _refuse()
    if is_lost(act.lost, sender.id, sender.surface):
        _not_confirmed(act)
    group = tool.reviewers if tool else "approvers"
    if sender.id not in moment.policy.group(group):
        _refuse()
    return Identity(ActorKind.PERSON, sender.id)


def _refuse() -> NoReturn:
    raise ReviewRefused("not_a_reviewer", "Only reviewers settle and retry.")


def _not_confirmed(act: Act) -> NoReturn:
    """Refuse an account that is no member, as for approvals: this lets things go on, too."""
    if not act.unsure:
        _refuse()
    words = (
        "Your membership here cannot be read just now; nothing was changed. Give it again later."
    )
    raise ReviewRefused("not_a_reviewer", words)


def _seen(tx: Transaction, moment: Moment, proposal: Proposal, act: Act, by: Identity) -> Reviewed:
    cleared = amend(
        tx,
        moment,
        proposal,
        EventKind.SETTLED,
        by,
        sender=act.sender,
        details={"attention": Attention.ENVELOPE_EXCEEDED.value},
        attention=None,
        attention_why="",
    )
    return reviewed(Concluded(cleared), "Noted as seen.")


def _happened(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Concluded:
    execution = begun(proposal)
    match execution.verb:
        case Verb.EXECUTE:
            length_ms = _window_ms(tx, proposal) if execution.windowed else 0
            closes_at_ms = moment.now_ms + length_ms if execution.windowed else None
            done = amend(
                tx,
                moment,
                proposal,
                EventKind.EXECUTE_HAPPENED,
                by,
                details={"window_closes_at_ms": closes_at_ms},
                execution=replace(
                    execution,
                    outcome=Outcome.DONE,
                    receipt=execution.receipt or {},
                    window_opens_at_ms=moment.now_ms if closes_at_ms else None,
                    window_closes_at_ms=closes_at_ms,
                ),
            )
            return after_execute(tx, moment, done, by)
        case Verb.COMMIT:
            return Concluded(_commit_happened(tx, moment, proposal, by))
        case Verb.ROLL_BACK:
            return Concluded(roll_back_done(tx, moment, proposal))
        case _:
            assert_never(execution.verb)


def _window_ms(tx: Transaction, proposal: Proposal) -> int:
    """Return how long the window is that was told; raises RowUnreadable."""
    window_s = retold(tx.audit.without_attempts(proposal.proposal_id)).window_s
    return (window_s if isinstance(window_s, int) else proposal.window_s) * 1000


def _commit_happened(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Proposal:
    execution = begun(proposal)
    cause = execution.cause or Cause(by, Puller.PERSON, "tool_succeeded", "A person found it done.")
    stopped = _too_late(tx, moment, proposal, by)
    return advance(
        tx,
        moment,
        proposal,
        Trigger.COMPLETE,
        cause.by,
        cause.puller,
        reason=cause.reason,
        explanation=f"{cause.words} {stopped}".strip(),
        execution=replace(execution, outcome=Outcome.DONE),
    )


def _too_late(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> str:
    """Announce that the kept ❌ came too late; return the words, empty if no ❌ was kept."""
    if proposal.kept_stop is None:
        return ""
    proposal_id, first = proposal.proposal_id, proposal.kept_stop.person
    stops = (r for r in tx.reviews.of(proposal_id) if r.decision is Decision.ROLL_BACK)
    people = ", ".join(dict.fromkeys((first, *(review.person for review in stops))))
    words = f"The ❌ by {people} came too late: {by.id} found that it had happened before."
    told = f"{proposal_id} ({proposal.tool}) is not taken back. {words}"
    announce(tx, moment, f"too_late:{proposal_id}", told, proposal_id)
    return words


def _did_not_happen(tx: Transaction, moment: Moment, proposal: Proposal, by: Identity) -> Concluded:
    execution = begun(proposal)
    words = f"{by.id} found that it did not happen."
    match execution.verb:
        case Verb.EXECUTE:
            ended = advance(
                tx,
                moment,
                proposal,
                Trigger.ROLL_BACK,
                by,
                Puller.PERSON,
                reason="did_not_happen",
                explanation=words,
                execution=replace(execution, outcome=Outcome.FAILED),
            )
            return Concluded(ended)
        case Verb.COMMIT:
            return commit_not_done(tx, moment, proposal, words)
        case Verb.ROLL_BACK:
            return Concluded(rollback_incomplete(tx, moment, proposal, words))
        case _:
            assert_never(execution.verb)


def reviewed(concluded: Concluded, words: str) -> Reviewed:
    """Return the reply, with the call to make if one was claimed."""
    proposal = concluded.proposal
    words = f"{words} {proposal.proposal_id} is {proposal.state}."
    return Reviewed.of(proposal, words, claim=concluded.claim)
