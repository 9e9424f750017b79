"""Compare the execution in a row, its kept ❌ and its due times with the trail (ADR 0013).

The generators yield one sentence for each difference; `rows.py` calls them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.agreeing.told import (
    APPROVED_EARLY,
    UNTOLD,
    Told,
    ToldCall,
    ToldCause,
    Untold,
    person_of,
)
from lifecycle.audit import AuditEntry
from lifecycle.moment import ms_of, rfc3339
from lifecycle.proposal import ActorKind, Cause, Execution, KeptStop, Proposal
from lifecycle.state import State
from lifecycle.tier import Puller
from lifecycle.windows import CLOSED_AGAIN_MS

#: The puller in whose role each kind of actor may end it. `Puller.TOOL` is possible for all of
#: them, since a tool also ends what somebody has settled.
_ENDS_AS: Final = {
    ActorKind.PERSON: Puller.PERSON,
    ActorKind.SENTINEL: Puller.SENTINEL,
    ActorKind.CLOCK: Puller.CLOCK,
}


def only_staged(called: Execution, told: Told) -> bool:
    """Return True if nothing was done yet but staging, by the row and, as far as it tells, by the
    trail. Less is asked before a stage is discarded, so what was done must not pass for one."""
    done = told.call is not None and told.call.deferred is False
    return called.stages(by_config=True) and not done


def about_its_call(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare the execution with what the trail tells; skip what the trail leaves untold."""
    execution, begun = proposal.execution, told.begun
    if execution is None or begun is None:
        if execution is not None:
            yield f"{execution.verb} is {execution.outcome}, and no entry tells that it began"
        elif begun is not None:
            yield f"its execution is gone, entry {begun.seq} began it"
        return
    yield from differs("verb", execution.verb, told.verb)
    yield from differs("attempt", execution.attempt, told.attempt)
    yield from differs("outcome", execution.outcome, told.outcome)
    yield from _about_its_window(execution, told)
    yield from _about_its_kind(execution, begun, told.call)
    if told.receipt is not UNTOLD and digest_told(execution.receipt) != told.receipt:
        yield "what its tool answered is not what the trail tells"
    if told.call is not None:
        yield from _about_its_tries(execution, told.call)
        yield from _about_its_cause(execution.cause, told.call.cause, told.early)
    by = begun.event.actor
    if execution.early != (by is not None and by.kind is ActorKind.AGENT):
        yield f"who may close its window early is another thing than entry {begun.seq} says"
    if proposal.opener != by and proposal.state is State.EXECUTING:
        yield f"it was opened by {proposal.opener}, entry {begun.seq} says {by}"


def _about_its_kind(
    execution: Execution, begun: AuditEntry, call: ToldCall | None
) -> Iterator[str]:
    """Compare whether an agent carries it out (`by_agent`) and whether a commit must follow."""
    says = {
        "by_agent": begun.event.details.get("by_agent", UNTOLD),
        "deferred": UNTOLD if call is None else call.deferred,
    }
    for name, value in says.items():
        stored = getattr(execution, name)
        if value not in (stored, UNTOLD):
            yield f"its {name} is {stored}, entry {begun.seq} or a later one says another thing"


def _about_its_window(execution: Execution, told: Told) -> Iterator[str]:
    if told.window is not UNTOLD:
        closes_ms = execution.window_closes_at_ms
        yield from differs("window's end", at_words(closes_ms), at_words(told.window))


def _about_its_tries(execution: Execution, call: ToldCall) -> Iterator[str]:
    """Compare tries, doubt, when call and window began, and what a roll back left.

    A `began_at_ms` of 0 is from an older version and is not compared.
    """
    yield from differs("number of tries", execution.tries, call.tries)
    yield from differs("doubt", execution.doubted, call.doubted)
    began_at = call.began.event.at
    if execution.began_at_ms and at_words(execution.began_at_ms) != began_at:
        yield f"its call began at {at_words(execution.began_at_ms)}, the trail says {began_at}"
    if call.opens_ms is not UNTOLD:
        opens = at_words(execution.window_opens_at_ms)
        yield from differs("window's beginning", opens, at_words(call.opens_ms))
    if call.stands not in (digest_told(list(execution.still_stands)), UNTOLD):
        yield "what still stands of it is not what the trail tells"


def _about_its_cause(
    cause: Cause | None, told: ToldCause | Untold | None, early: Collection[str]
) -> Iterator[str]:
    """Compare in whose name a claimed commit or roll back is to end, why, and with which words.

    Of a commit that no entry claimed only the ✅ is told for which it need not await its window:
    `early` are the people who gave one.
    """
    if told is UNTOLD:
        if cause is not None and cause.reason == APPROVED_EARLY and cause.by.id not in early:
            yield f"its window is to end early for {cause.by}, who did not approve that"
        return
    if cause is None or told is None:
        if cause is not None or told is not None:
            yield "whether a commit or a roll back was claimed is not what the trail tells"
        return
    if (cause.by, cause.reason) != (told.by, told.reason):
        yield f"it is to end for {cause.by} ({cause.reason}), not for {told.by} ({told.reason})"
    if cause.puller not in (_ENDS_AS.get(cause.by.kind), Puller.TOOL):
        yield f"it is to end for {cause.by} as {cause.puller}"
    yield from differs("words of the end", cause.words, told.words)


def about_its_times(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare the time of the next try to close the window and the wait for a reason.

    A next try is explained only by an entry of a failed closing (`not_closed`), and at most
    `CLOSED_AGAIN_MS` after it. The wait for a reason behind a bare ❌ must be exactly as told.
    """
    yield from _about_its_next_closing(proposal, told)
    if told.reason_due_ms is not UNTOLD:
        due = at_words(proposal.reason_due_ms)
        yield from differs("wait for a reason", due, at_words(told.reason_due_ms))


def _about_its_next_closing(proposal: Proposal, told: Told) -> Iterator[str]:
    at_ms, failed = proposal.retry_at_ms, told.not_closed
    latest = at_words(ms_of(failed.event.at) + CLOSED_AGAIN_MS) if failed else None
    if at_ms is not None and str(at_words(at_ms)) > (latest or ""):
        yield f"its window is not closed before {at_words(at_ms)}, and no entry tells why"


def about_its_stop(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare the kept ❌, which waits until the answer of its tool is known."""
    kept = proposal.kept_stop
    if kept is None and told.stops:
        yield f"the ❌ of {told.stops[0]} waits for its tool, and is not kept"
    if kept is not None and kept.person not in told.stops:
        yield f"a ❌ of {kept.person} is kept, and no entry tells of it"
    elif kept is not None and told.kept is not None:
        yield from _as_it_was_kept(kept, told.kept, told)


def _as_it_was_kept(kept: KeptStop, entry: AuditEntry, told: Told) -> Iterator[str]:
    stored = (kept.person, at_words(kept.at_ms), kept.surface)
    if stored != (person_of(entry), entry.event.at, entry.event.surface):
        yield f"the ❌ of {kept.person} is kept otherwise than entry {entry.seq} tells"
    yield from differs("kept reason to stop", kept.reason, told.kept_words)


def differs(name: str, stored: object, told: object) -> Iterator[str]:
    """Yield a sentence if `told` is known and `stored` is not equal to it."""
    if told is not UNTOLD and stored != told:
        yield f"its {name} is {stored}, the trail says {told}"


def at_words(at_ms: int | None) -> str | None:
    """Return a time in ms UTC in the form of the trail; return None, and what is no number,
    unchanged."""
    if at_ms is None or not isinstance(at_ms, int):
        return at_ms
    return rfc3339(at_ms)
