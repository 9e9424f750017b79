"""Replay the entries about calls of tools: who claimed them and why, how often, what they left.

It is the part of `retelling.py` that is about calls (ADR 0013). Each function changes the `Told` of
one proposal as one entry requires.
"""

from __future__ import annotations

from typing import Any, Final

from lifecycle.agreeing.following import WINDOW, opens_anew
from lifecycle.agreeing.told import UNTOLD, Told, ToldCall, ToldCause, Untold
from lifecycle.audit import AuditEntry
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.event_kinds import EventKind
from lifecycle.moment import ms_of
from lifecycle.proposal import Attention, Outcome, Verb


def digest_told(value: Any) -> str:
    """Return the digest that stands in the trail for a JSON value the trail does not repeat."""
    return digest_of(canonical_bytes(value))


#: The digests of: the receipt before the tool answered; the receipt of a call that a person settled
#: as happened; and what still stands when nothing was rolled back.
NO_RECEIPT: Final = digest_told(None)
EMPTY_RECEIPT: Final = digest_told({})
NOTHING_STANDS: Final = digest_told([])


def executed(told: Told, entry: AuditEntry) -> None:
    """Replay the beginning of the execution, and with it of its window."""
    told.begun, told.attention = entry, None
    told.verb, told.attempt, told.outcome = Verb.EXECUTE.value, 1, Outcome.RUNNING.value
    told.window = closes_ms = entry.event.details.get(WINDOW, UNTOLD)
    told.call = ToldCall(entry, _opened_by(entry, closes_ms), stands=NOTHING_STANDS)
    told.call.deferred = entry.event.details.get("deferred", UNTOLD)
    told.receipt = NO_RECEIPT
    if closes_ms is not UNTOLD:
        told.window_s = (closes_ms - ms_of(entry.event.at)) // 1000 if closes_ms else 0


def done(told: Told, entry: AuditEntry) -> None:
    """Replay the answer of a tool after which the proposal goes on."""
    told.outcome = Outcome.DONE.value
    told.receipt = entry.event.details.get("receipt", UNTOLD)


def answered_late(told: Told, _entry: AuditEntry) -> None:
    """Replay a receipt that an agent reported when its outcome already counted as unknown."""
    told.receipt = UNTOLD


def happened(told: Told, entry: AuditEntry) -> None:
    """Replay that a person found it executed; its window begins with that."""
    told.outcome = Outcome.DONE.value
    told.window = entry.event.details.get(WINDOW, UNTOLD)
    if told.receipt == NO_RECEIPT:
        told.receipt = EMPTY_RECEIPT
    if told.call is not None:
        told.call.opens_ms = _opened_by(entry, told.window)


def staged(told: Told, entry: AuditEntry) -> None:
    """Replay that it is only staged; the entry's window time is when its commit is due."""
    told.window = entry.event.details.get(WINDOW, UNTOLD)


def claimed(told: Told, entry: AuditEntry) -> None:
    """Replay the claim of a call: a commit, a roll back, or the repetition of an earlier call."""
    details, again = entry.event.details, entry.event.kind == EventKind.CALLED_AGAIN
    if again:
        told.odd += _miscounted(told, entry)
    told.verb, told.attempt = details.get("verb", UNTOLD), details.get("attempt", UNTOLD)
    told.outcome, told.attention = Outcome.RUNNING.value, None
    told.committed |= entry.event.kind == EventKind.COMMIT_CLAIMED
    call = told.call
    if call is not None:
        call.began, call.tries = entry, details.get("tries", UNTOLD)
        _doubt(call, details.get("doubted", UNTOLD) if again else False)
        call.deferred = details.get("deferred", call.deferred) if again else call.deferred
        if not again:
            words = details.get("words", UNTOLD)
            call.cause = ToldCause(entry.event.actor, entry.event.reason, words)
    if opens_anew(entry):
        closes_ms = details.get(WINDOW, told.window)
        if call is not None and closes_ms != told.window:
            call.opens_ms = _opened_by(entry, closes_ms)
        told.window = closes_ms
    if told.verb == Verb.ROLL_BACK:
        stops_end(told)


def _miscounted(told: Told, entry: AuditEntry) -> list[str]:
    """Return a sentence if a repeated call does not count one more try than is told so far."""
    details, tries = entry.event.details, told.call.tries if told.call is not None else UNTOLD
    if tries is UNTOLD or details.get("attempt") != told.attempt or "tries" not in details:
        return []
    if details["tries"] == tries + 1:
        return []
    return [f"entry {entry.seq} counts it as try {details['tries']}, after try {tries}"]


def looked_at(told: Told, entry: AuditEntry) -> None:
    """Replay that a proposal calls for a person's attention, and what this says of its call."""
    told.attention = entry.event.reason
    match told.attention:
        case Attention.OUTCOME_UNKNOWN:
            if (told.verb, told.outcome) == (Verb.EXECUTE, Outcome.DONE):
                told.verb = told.attempt = UNTOLD  # a restored copy may have been committed since
                _claimed_untold(told.call)
            told.outcome = Outcome.UNKNOWN.value
        case Attention.COMMIT_FAILED:
            if told.verb == Verb.EXECUTE:  # commit was due, not called: the tool has none any more
                told.verb, told.attempt = Verb.COMMIT.value, 1
                _claimed_untold(told.call)
                _never_called(told.call, entry)
            told.outcome = Outcome.FAILED.value
        case Attention.ROLLBACK_INCOMPLETE:
            told.outcome = Outcome.FAILED.value
            stands = entry.event.details.get("stands", UNTOLD)
            if told.call is not None and stands is not None:  # else as it was before
                told.call.stands = stands
        case _:
            return


def settled(told: Told, entry: AuditEntry) -> None:
    """Replay a person's word on what became of a call."""
    details, call = entry.event.details, told.call
    told.attention = None
    told.verb = details.get("verb", told.verb)
    if call is not None and "happened" in details:
        _doubt(call, False)
    if details.get("window_goes_on"):
        told.verb, told.attempt, told.outcome = Verb.EXECUTE.value, 1, Outcome.DONE.value
        if call is not None:
            call.tries, call.cause = 1, None


def call_ended(told: Told, entry: AuditEntry) -> None:
    """Replay the end: the receipt that came with it, and what a roll back left."""
    details, running = entry.event.details, told.outcome == Outcome.RUNNING
    if "receipt" in details:
        told.receipt = details["receipt"]
    elif running and told.verb == Verb.EXECUTE and entry.event.target == "completed":
        told.receipt = UNTOLD  # an entry of an older version
    if told.call is not None and told.verb == Verb.ROLL_BACK:
        told.call.stands = NOTHING_STANDS


def stops_end(told: Told) -> None:
    """Note that no ❌ waits for the answer of a tool any more."""
    told.stops.clear()
    told.kept, told.kept_words = None, UNTOLD


def explained_early(told: Told, words: str | Untold) -> None:
    """Replay the words that followed a ❌ before the proposal ended."""
    if told.kept is not None:
        told.kept_words = words
    elif told.call is not None and isinstance(told.call.cause, ToldCause):
        told.call.cause.words = words


def _doubt(call: ToldCall, doubted: bool | Untold) -> None:
    """Note whether an earlier call is in doubt; once that is untold it stays untold."""
    if call.doubted is not UNTOLD:
        call.doubted = doubted


def _never_called(call: ToldCall | None, entry: AuditEntry) -> None:
    """Note that no commit is in doubt before one was called; older entries do not tell that."""
    if call is not None:
        _doubt(call, entry.event.details.get("doubted", call.doubted))


def _claimed_untold(call: ToldCall | None) -> None:
    if call is not None:
        call.cause = call.tries = UNTOLD


def _opened_by(entry: AuditEntry, closes_ms: int | Untold | None) -> int | Untold | None:
    if closes_ms is UNTOLD:
        return UNTOLD
    return ms_of(entry.event.at) if closes_ms is not None else None
