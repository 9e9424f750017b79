"""What a trail tells of a proposal, told again from its first entry to its last (ADR 0013)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lifecycle.audit import AuditEntry
from lifecycle.following import CLAIMS, COMMIT, WINDOW, opens_anew, out_of_place
from lifecycle.moment import ms_of
from lifecycle.proposal import Attention, Outcome, Verb
from lifecycle.state import State, Trigger
from lifecycle.tier import Tier
from lifecycle.told import UNTOLD, Told, person_of

#: Ends of an execution that left nothing behind.
_FAILED_ENDS: Final = frozenset({"tool_failed", "did_not_happen"})


def retold(trail: Sequence[AuditEntry]) -> Told:
    """Tell the trail of one proposal again, oldest entry first."""
    told = Told()
    for entry in trail:
        kind, target = entry.event.kind, entry.event.target
        told.odd += out_of_place(told, entry)
        if kind in _STEPS:
            _STEPS[kind](told, entry)
        if target:
            told.state, told.moved = target, entry
    return told


def _submitted(told: Told, entry: AuditEntry) -> None:
    told.tier = entry.event.details.get("tier", UNTOLD)
    told.deadline_ms = entry.event.details.get("deadline_ms", UNTOLD)


def _handed_over(told: Told, _entry: AuditEntry) -> None:
    told.deadline_ms = UNTOLD  # that of the permit from now on, and another one after it


def _judged(told: Told, entry: AuditEntry) -> None:
    details = entry.event.details
    told.tier, told.quorum = details.get("tier", UNTOLD), details.get("quorum", UNTOLD)
    told.needs_people = details.get("needs_people", UNTOLD)
    told.rules = details.get("rules", UNTOLD)


def _counted(told: Told, entry: AuditEntry) -> None:
    quorum = entry.event.details.get("quorum", told.quorum)
    if told.quorum not in (quorum, UNTOLD):
        told.odd.append(
            f"entry {entry.seq} counts up to {quorum}, where {told.quorum} must approve"
        )
    told.quorum = quorum


def _raised(told: Told, entry: AuditEntry) -> None:
    told.tier = Tier.CONFIRM.value
    told.rules = entry.event.details.get("rules", UNTOLD)
    told.quorum = UNTOLD if told.quorum is UNTOLD else max(1, told.quorum)
    told.needs_people = UNTOLD if told.needs_people is UNTOLD else True


def _rechecked(told: Told, entry: AuditEntry) -> None:
    if told.state == State.SENTINEL_APPROVED or "tier" in entry.event.details:
        _judged(told, entry)  # else nothing of this was set anew


def _executed(told: Told, entry: AuditEntry) -> None:
    told.begun, told.attention = entry, None
    told.verb, told.attempt, told.outcome = Verb.EXECUTE.value, 1, Outcome.RUNNING.value
    told.window = closes_ms = entry.event.details.get(WINDOW, UNTOLD)
    if closes_ms is not UNTOLD:
        told.window_s = (closes_ms - ms_of(entry.event.at)) // 1000 if closes_ms else 0


def _done(told: Told, entry: AuditEntry) -> None:
    told.outcome = Outcome.DONE.value
    told.receipt = entry.event.details.get("receipt", UNTOLD)


def _answered_late(told: Told, _entry: AuditEntry) -> None:
    told.receipt = UNTOLD


def _happened(told: Told, entry: AuditEntry) -> None:
    told.outcome = Outcome.DONE.value
    told.window = entry.event.details.get(WINDOW, UNTOLD)


def _staged(told: Told, entry: AuditEntry) -> None:
    told.window = entry.event.details.get(WINDOW, UNTOLD)


def _claimed(told: Told, entry: AuditEntry) -> None:
    details = entry.event.details
    told.verb, told.attempt = details.get("verb", UNTOLD), details.get("attempt", UNTOLD)
    told.outcome, told.attention = Outcome.RUNNING.value, None
    told.committed |= entry.event.kind == COMMIT
    if opens_anew(entry):
        told.window = details.get(WINDOW, told.window)
    if told.verb == Verb.ROLL_BACK:
        told.stops.clear()


def _looked_at(told: Told, entry: AuditEntry) -> None:
    told.attention = entry.event.reason
    match told.attention:
        case Attention.OUTCOME_UNKNOWN:
            if (told.verb, told.outcome) == (Verb.EXECUTE, Outcome.DONE):
                told.verb = told.attempt = UNTOLD  # of a copy: whether it committed since
            told.outcome = Outcome.UNKNOWN.value
        case Attention.COMMIT_FAILED:
            if told.verb == Verb.EXECUTE:  # due, and not called: its tool commits nothing any more
                told.verb, told.attempt = Verb.COMMIT.value, 1
            told.outcome = Outcome.FAILED.value
        case Attention.ROLLBACK_INCOMPLETE:
            told.outcome = Outcome.FAILED.value
        case _:
            return


def _settled(told: Told, entry: AuditEntry) -> None:
    told.attention = None
    told.verb = entry.event.details.get("verb", told.verb)
    if entry.event.details.get("window_goes_on"):
        told.verb, told.attempt, told.outcome = Verb.EXECUTE.value, 1, Outcome.DONE.value


def _not_closed(told: Told, entry: AuditEntry) -> None:
    told.attention = entry.event.reason or told.attention


def _card_stands(told: Told, _entry: AuditEntry) -> None:
    told.attention = None


def _stopped(told: Told, entry: AuditEntry) -> None:
    told.stoppers.add(person_of(entry))


def _stop_kept(told: Told, entry: AuditEntry) -> None:
    told.stoppers.add(person_of(entry))
    told.stops.append(person_of(entry))


def _explained(told: Told, entry: AuditEntry) -> None:
    if told.state in _ENDS:
        told.explanation = entry.event.details.get("why", UNTOLD)


def _ended(told: Told, entry: AuditEntry) -> None:
    event = entry.event
    told.explanation = event.details.get("explanation", UNTOLD)
    told.rules = event.details.get("rules", told.rules)
    told.receipt = event.details.get("receipt", told.receipt)
    told.stops.clear()
    if told.attention != Attention.ENVELOPE_EXCEEDED:
        told.attention = None
    failed = event.kind == Trigger.ROLL_BACK and event.reason in _FAILED_ENDS
    told.outcome = Outcome.FAILED.value if failed else Outcome.DONE.value


_ENDS: Final = frozenset(state.value for state in State if state.terminal)
_STEPS: Final[Mapping[str, Callable[[Told, AuditEntry], None]]] = {
    "submitted": _submitted,
    Trigger.SENTINEL_APPROVE.value: _judged,
    "reviewed": _counted,
    "quorum_counted": _counted,
    "raised": _raised,
    "rechecked": _rechecked,
    "permit_handed_over": _handed_over,
    Trigger.EXECUTE.value: _executed,
    "tool_done": _done,
    "late_receipt": _answered_late,
    "execute_happened": _happened,
    "staged": _staged,
    **dict.fromkeys(CLAIMS, _claimed),
    "attention": _looked_at,
    "settled": _settled,
    "not_closed": _not_closed,
    "card_delivered": _card_stands,
    "stopped": _stopped,
    "stop_kept": _stop_kept,
    "reason_given": _explained,
    Trigger.COMPLETE.value: _ended,
    Trigger.ROLL_BACK.value: _ended,
    Trigger.REJECT.value: _ended,
}
