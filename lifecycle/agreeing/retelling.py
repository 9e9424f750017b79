"""Replay the trail of a proposal from its first entry to its last (ADR 0013).

`retold` returns how the row must stand after the last entry. `_STEPS` at the end of the file names
the function that replays each kind of entry; kinds without one change nothing that is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lifecycle.agreeing.following import CLAIMS, WINDOW, out_of_place
from lifecycle.agreeing.retelling_calls import (
    answered_late,
    call_ended,
    claimed,
    done,
    executed,
    explained_early,
    happened,
    looked_at,
    settled,
    staged,
    stops_end,
)
from lifecycle.agreeing.told import UNTOLD, Told, ToldPermit, person_of
from lifecycle.audit import AuditEntry
from lifecycle.event_kinds import EventKind
from lifecycle.proposal import Attention, Outcome
from lifecycle.review import BY_A_CROSS
from lifecycle.state import State, Trigger
from lifecycle.tier import Tier

#: Entries with which a permit may be taken back.
_MAY_TAKE_BACK: Final = frozenset(
    {EventKind.RAISED, EventKind.QUORUM_COUNTED, EventKind.RECHECKED, EventKind.RESTORED}
)
_STOPS: Final = frozenset({EventKind.STOPPED, EventKind.STOP_KEPT})
#: Entries after which nobody waits for the words of a bare ❌ any more.
_WAITS_NO_MORE: Final = frozenset({EventKind.REASON_GIVEN, EventKind.NO_REASON_GIVEN})
#: Ends of an execution that left nothing behind.
_FAILED_ENDS: Final = frozenset({"tool_failed", "did_not_happen"})


def retold(trail: Sequence[AuditEntry]) -> Told:
    """Replay the trail of one proposal, oldest entry first, and return the expected row."""
    told = Told()
    for entry in trail:
        kind, target = entry.event.kind, entry.event.target
        told.odd += out_of_place(told, entry)
        _about_its_deadline(told, entry)
        _about_its_reason(told, entry)
        if kind in _STEPS:
            _STEPS[kind](told, entry)
        if target:
            told.state, told.moved = target, entry
    return told


def _submitted(told: Told, entry: AuditEntry) -> None:
    told.tier = entry.event.details.get("tier", UNTOLD)
    _judged_by(told, entry)


def _about_its_deadline(told: Told, entry: AuditEntry) -> None:
    """Replay a deadline that an entry sets, and what it says of the permit of an agent.

    A permit that is handed over sets the deadline to its own end. The next entry that sets a
    deadline uses that permit up: it was redeemed or taken back.
    """
    details = entry.event.details
    deadline_ms = details.get("deadline_ms")
    if entry.event.kind == EventKind.PERMIT_HANDED_OVER:
        told.deadline_ms = UNTOLD if deadline_ms is None else deadline_ms
        told.permit_waits = True
        if "permit" in details:
            told.permits.append(ToldPermit(entry, details["permit"]))
    elif deadline_ms is not None:
        told.deadline_ms = deadline_ms
        _permit_ends(told, entry)
    elif told.permit_waits is True and not told.permits and entry.event.kind in _MAY_TAKE_BACK:
        told.permit_waits = UNTOLD  # an entry of an older version


def _about_its_reason(told: Told, entry: AuditEntry) -> None:
    """Replay until when the end waits for words; entries of older versions do not tell that."""
    event = entry.event
    if "reason_due_ms" in event.details:
        told.reason_due_ms = event.details["reason_due_ms"]
    elif event.kind in _STOPS or event.reason == "rejected_by_person":
        told.reason_due_ms = UNTOLD
    elif event.kind in _WAITS_NO_MORE or (event.target in _ENDS and event.reason not in BY_A_CROSS):
        told.reason_due_ms = None


def _permit_ends(told: Told, entry: AuditEntry) -> None:
    """Note that the waiting permit, if there is one, was redeemed or taken back by this entry."""
    _permit_waits_no_more(told)
    if told.permits and told.permits[-1].at is None:
        told.permits[-1].at = entry.event.at


def _permit_waits_no_more(told: Told) -> None:
    """Note that no permit waits.

    It becomes untold if no entry names the permit that waited: older versions did not name it, and
    left the flag set in its row.
    """
    by_older_version = told.permit_waits is not False and not told.permits
    told.permit_waits = UNTOLD if by_older_version else False


def _judged(told: Told, entry: AuditEntry) -> None:
    details = entry.event.details
    told.tier, told.quorum = details.get("tier", UNTOLD), details.get("quorum", UNTOLD)
    told.needs_people = details.get("needs_people", UNTOLD)
    told.window_s = details.get("window_s", UNTOLD)
    _found(told, entry)
    _judged_by(told, entry)


def _found(told: Told, entry: AuditEntry) -> None:
    details = entry.event.details
    told.rules = details.get("rules", UNTOLD)
    told.findings = details.get("findings", UNTOLD)


def _judged_by(told: Told, entry: AuditEntry) -> None:
    told.policy, told.owed = entry.event.policy_digest, False


def _reviewed(told: Told, entry: AuditEntry) -> None:
    if told.state == State.EXECUTING:
        told.early.add(person_of(entry))
    _counted(told, entry)


def _counted(told: Told, entry: AuditEntry) -> None:
    quorum = entry.event.details.get("quorum", told.quorum)
    if told.quorum not in (quorum, UNTOLD):
        told.odd.append(
            f"entry {entry.seq} counts up to {quorum}, where {told.quorum} must approve"
        )
    told.quorum = quorum


def _raised(told: Told, entry: AuditEntry) -> None:
    told.tier = Tier.CONFIRM.value
    told.window_s = entry.event.details.get("window_s", UNTOLD)
    _found(told, entry)
    told.quorum = UNTOLD if told.quorum is UNTOLD else max(1, told.quorum)
    told.needs_people = UNTOLD if told.needs_people is UNTOLD else True


def _rechecked(told: Told, entry: AuditEntry) -> None:
    if told.state == State.SENTINEL_APPROVED or "tier" in entry.event.details:
        _judged(told, entry)  # otherwise tier, quorum and findings were not set anew
    _judged_by(told, entry)


def _owed(told: Told, entry: AuditEntry) -> None:
    told.owed = entry.event.kind == EventKind.CHECK_OWED


def _executed(told: Told, entry: AuditEntry) -> None:
    executed(told, entry)
    _permit_ends(told, entry)


def _not_closed(told: Told, entry: AuditEntry) -> None:
    told.attention = entry.event.reason or told.attention
    told.not_closed = entry


def _moved_along(told: Told, entry: AuditEntry) -> None:
    """Replay that a window ends later because the wall clock was set forward (ADR 0022)."""
    told.window = entry.event.details.get(WINDOW, told.window)


def _card_stands(told: Told, _entry: AuditEntry) -> None:
    told.attention = None


def _stopped(told: Told, entry: AuditEntry) -> None:
    told.stoppers.add(person_of(entry))


def _stop_kept(told: Told, entry: AuditEntry) -> None:
    told.stoppers.add(person_of(entry))
    told.stops.append(person_of(entry))
    if told.kept is None:
        why = entry.event.details.get("why", UNTOLD)
        told.kept, told.kept_words = entry, why or f"Rolled back by {person_of(entry)}."


def _explained(told: Told, entry: AuditEntry) -> None:
    words = entry.event.details.get("why", UNTOLD)
    if told.state in _ENDS:
        told.explanation = words
    else:
        explained_early(told, words)


def _ended(told: Told, entry: AuditEntry) -> None:
    event = entry.event
    told.explanation = event.details.get("explanation", UNTOLD)
    if "rules" in event.details:
        _found(told, entry)
    call_ended(told, entry)
    stops_end(told)
    _permit_waits_no_more(told)
    if told.attention != Attention.ENVELOPE_EXCEEDED:
        told.attention = None
    failed = event.kind == Trigger.ROLL_BACK and event.reason in _FAILED_ENDS
    told.outcome = Outcome.FAILED.value if failed else Outcome.DONE.value


_ENDS: Final = frozenset(state.value for state in State if state.terminal)
_STEPS: Final[Mapping[str, Callable[[Told, AuditEntry], None]]] = {
    EventKind.SUBMITTED: _submitted,
    Trigger.SENTINEL_APPROVE.value: _judged,
    EventKind.REVIEWED: _reviewed,
    EventKind.QUORUM_COUNTED: _counted,
    EventKind.RAISED: _raised,
    EventKind.RECHECKED: _rechecked,
    EventKind.CHECK_OWED: _owed,
    EventKind.CHECK_PAID: _owed,
    Trigger.EXECUTE.value: _executed,
    EventKind.TOOL_DONE: done,
    EventKind.LATE_RECEIPT: answered_late,
    EventKind.EXECUTE_HAPPENED: happened,
    EventKind.STAGED: staged,
    **dict.fromkeys(CLAIMS, claimed),
    EventKind.ATTENTION: looked_at,
    EventKind.SETTLED: settled,
    EventKind.NOT_CLOSED: _not_closed,
    EventKind.MOVED_ALONG: _moved_along,
    EventKind.CARD_DELIVERED: _card_stands,
    EventKind.STOPPED: _stopped,
    EventKind.STOP_KEPT: _stop_kept,
    EventKind.REASON_GIVEN: _explained,
    Trigger.COMPLETE.value: _ended,
    Trigger.ROLL_BACK.value: _ended,
    Trigger.REJECT.value: _ended,
}
