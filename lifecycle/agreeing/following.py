"""Say whether an audit entry can follow on the entries before it.

The bot writes truthful entries about what it does with a forged row, so that row and last entry
agree in the end. The forgery shows only in the sequence: a move that begins in another state, a
commit before the window was over, a roll back for a person who did not stop anything. `retold`
calls `out_of_place` for each entry.
"""

from __future__ import annotations

from typing import Any, Final

from lifecycle.agreeing.told import UNTOLD, Told, ToldCause, person_of
from lifecycle.audit import AuditEntry
from lifecycle.event_kinds import EventKind
from lifecycle.moment import rfc3339
from lifecycle.proposal import Outcome, Verb
from lifecycle.state import State, Trigger

#: The field of an entry that tells when the rollback window closes, in ms UTC; null for no window.
WINDOW: Final = "window_closes_at_ms"
#: The kinds of entries that tell of the beginning of a call.
CLAIMS: Final = frozenset(
    {EventKind.COMMIT_CLAIMED, EventKind.ROLL_BACK_CLAIMED, EventKind.CALLED_AGAIN}
)
_UNDER_WAY: Final = CLAIMS | {
    EventKind.TOOL_DONE,
    EventKind.EXECUTE_HAPPENED,
    EventKind.STAGED,
    EventKind.STOPPED,
    EventKind.STOP_KEPT,
    EventKind.COMMIT_FAILED,
}


def out_of_place(told: Told, entry: AuditEntry) -> list[str]:
    """Return a sentence for each respect in which `entry` cannot follow on what is told so far."""
    event, seq = entry.event, entry.seq
    found = []
    if event.target and event.source != told.state:
        found.append(f"entry {seq} moves it from {event.source}, where it was {told.state}")
    if event.kind in _UNDER_WAY and told.state != State.EXECUTING:
        found.append(f"entry {seq} ({event.kind}) tells of a call, where it was {told.state}")
    if event.reason == "rolled_back_by_person" and person_of(entry) not in told.stoppers:
        found.append(f"entry {seq} takes it back for {person_of(entry)}, who did not stop it")
    found += _about_its_cause(told, entry)
    claimed = event.kind in CLAIMS or event.kind == Trigger.COMPLETE
    return found + (_about_the_window(told, entry) if claimed else [])


def _about_its_cause(told: Told, entry: AuditEntry) -> list[str]:
    """Compare an end of a claimed call with its claim: the same actor and the same reason."""
    event, cause = entry.event, told.call.cause if told.call is not None else None
    ends = event.kind in (Trigger.COMPLETE, Trigger.ROLL_BACK)
    if not (ends and told.verb != Verb.EXECUTE and isinstance(cause, ToldCause)):
        return []
    if (event.actor, event.reason) == (cause.by, cause.reason):
        return []
    claimed = f"which was claimed for {cause.by} ({cause.reason})"
    return [f"entry {entry.seq} ends it for {event.actor} ({event.reason}), {claimed}"]


def _about_the_window(told: Told, entry: AuditEntry) -> list[str]:
    """Compare the window named by a call or an end, and say if it ends that window too early."""
    event, closes_ms = entry.event, told.window
    if closes_ms is UNTOLD:
        return []
    found = []
    named = event.details.get(WINDOW, closes_ms)
    if named != closes_ms and not opens_anew(entry):
        words = f"takes its window for {_when(named)}, not {_when(closes_ms)}"
        found.append(f"entry {entry.seq} {words}")
    if closes_ms is not None and _closes(told, entry) and event.at < rfc3339(closes_ms):
        found.append(f"entry {entry.seq} ends its window, which was open until {_when(closes_ms)}")
    return found


def _closes(told: Told, entry: AuditEntry) -> bool:
    """Return True if the entry does what follows by itself once a window is over."""
    if entry.event.kind == Trigger.COMPLETE:
        in_window = told.verb == Verb.EXECUTE and told.outcome == Outcome.DONE
        return in_window and entry.event.reason == "window_closed_unopposed"
    if (
        entry.event.kind == EventKind.CALLED_AGAIN
    ):  # after a copy was brought back, the claim may be in no entry
        again = entry.event.details.get("verb") == Verb.COMMIT and not told.committed
        return again and entry.event.reason == "window_closed_unopposed"
    return entry.event.kind == EventKind.COMMIT_CLAIMED and entry.event.reason != "approved_early"


def opens_anew(entry: AuditEntry) -> bool:
    """Return True if the entry says that execute is called once more; a window begins with it."""
    return (
        entry.event.kind == EventKind.CALLED_AGAIN
        and entry.event.details.get("verb") == Verb.EXECUTE
    )


def _when(at_ms: Any) -> str:
    return rfc3339(at_ms) if isinstance(at_ms, int) else "none"
