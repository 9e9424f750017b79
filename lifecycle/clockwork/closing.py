"""Close one window that is over, or record why it is left open. `closer.py` calls this."""

from __future__ import annotations

from typing import Final

from lifecycle.announcing import announce
from lifecycle.calls.finishing import Concluded, finish, tool_cause
from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.freezing import stands_still
from lifecycle.heard import HEARD
from lifecycle.moment import Moment, clock_words
from lifecycle.ports import Transaction
from lifecycle.proposal import (
    CLOCK,
    STOPS_CLOSING,
    Attention,
    Cause,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.state import State
from lifecycle.tier import Puller
from lifecycle.verdicts.last_judged import judged_as_it_stands
from lifecycle.windows import CLOSED_AGAIN_MS

#: A closing later than this says so in its words; the entry tells the delay in any case.
LATE_MS: Final = 5_000
#: After this many failed closings in a row a proposal is shown as `overdue`.
OVERDUE_AFTER: Final = 5


def may_close(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return True if this window is over and nothing keeps it open."""
    due = _due(tx, moment, proposal)
    return due and stands_still(tx, moment, proposal) is None


def waits_for_a_stop(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return True if nothing but a stop that waited a while keeps a due window open."""
    late = moment.heard.late(moment.now_ms, proposal.proposal_id)
    return bool(late) and _due(tx, moment, proposal) and stands_still(tx, moment, proposal) == HEARD


def why_it_waits(moment: Moment, proposal_id: str) -> str:
    """Return words for people: a stop keeps this window open, and what can be done about it."""
    late = moment.heard.late(moment.now_ms, proposal_id)
    ways = [f"retry {proposal_id}"] if any(each.proposal_id for each in late) else []
    if not all(each.proposal_id for each in late):
        ways.append("and of a freeze: thaw" if ways else "thaw")
    remedy = f"roll-back {proposal_id} <reason>, or let go of that stop: {', '.join(ways)}"
    return f"it waits for {HEARD}; {remedy}"


def _due(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    execution = proposal.execution
    return (
        proposal.state is State.EXECUTING
        and execution is not None
        and execution.verb is Verb.EXECUTE
        and execution.outcome is Outcome.DONE
        and execution.window_closes_at_ms is not None
        and execution.window_closes_at_ms <= moment.now_ms
        and proposal.attention not in STOPS_CLOSING
        and proposal.kept_stop is None
        and judged_as_it_stands(tx, moment, proposal)
    )


def close(tx: Transaction, moment: Moment, proposal: Proposal) -> Concluded:
    """Close one window and claim the call that this needs; do nothing if it may not be closed."""
    if not may_close(tx, moment, proposal):
        return Concluded(proposal)
    execution = begun(proposal)
    if execution.window_opens_at_ms is None:
        return finish(tx, moment, proposal, tool_cause(proposal))  # only staged, see `_staged`
    closes_at_ms = execution.window_closes_at_ms or moment.now_ms
    late_ms = moment.now_ms - closes_at_ms
    words = "Nobody objected before the window closed."
    if late_ms > LATE_MS:
        words += f" Closed late, {late_words(late_ms)} after {clock_words(closes_at_ms)}."
    cause = Cause(CLOCK, Puller.CLOCK, "window_closed_unopposed", words)
    late = {"late": late_ms > LATE_MS, "late_ms": late_ms}
    return finish(tx, moment, proposal, cause, late)


def late_words(late_ms: int) -> str:
    """Return a delay as people write it: 20 min, 45 s."""
    return f"{late_ms // 60_000} min" if late_ms >= 60_000 else f"{late_ms // 1000} s"


def not_closed(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Record that a due window could not be closed (`why`: an unreadable card, a stop that waits).

    It is tried again with back-off, at most `CLOSED_AGAIN_MS` later. After `OVERDUE_AFTER` failures
    the proposal is `overdue`, and people are told.
    """
    failures = proposal.failures + 1
    wait_ms = min(CLOSED_AGAIN_MS, 1000 * 2 ** min(failures, 6))
    overdue = failures >= OVERDUE_AFTER and proposal.attention is None
    if overdue:
        announce(
            tx,
            moment,
            f"overdue:{proposal.proposal_id}",
            f"{proposal.proposal_id} is overdue: its window has passed but {why}.",
            proposal.proposal_id,
        )
    return amend(
        tx,
        moment,
        proposal,
        EventKind.NOT_CLOSED,
        CLOCK,
        reason=Attention.OVERDUE.value if overdue else None,
        details={"why": why, "failures": failures},
        failures=failures,
        retry_at_ms=moment.now_ms + wait_ms,
        attention=Attention.OVERDUE if overdue else proposal.attention,
        attention_why=why if overdue else proposal.attention_why,
    )
