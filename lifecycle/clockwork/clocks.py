"""Move open windows and deadlines when the wall clock was set forward between two starts (ADR
0022).

Each process reads the wall clock once and counts on by the boot clock. Within one boot, the
difference of the two clocks tells exactly how far the wall clock was set since an earlier process
read it. Windows and deadlines that are open were computed by the clock of that process; if the wall
clock was set forward they would end too early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, assert_never

from lifecycle.agreeing.following import WINDOW, opens_anew
from lifecycle.agreeing.rows import disagreements, stands_as_told
from lifecycle.announcing import announce
from lifecycle.audit import AuditEntry
from lifecycle.clockwork.restored import open_ids
from lifecycle.door import amend
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import CLOCK, Proposal, Verb
from lifecycle.state import State, Trigger
from lifecycle.world import World

#: The clocks of two starts may differ by this much, as time servers correct them: nothing moves.
TOLERATED_MS: Final = 60_000
_FLAG: Final = "clock"
#: A difference below this does not count as another clock.
_SAME_MS: Final = 1_000
#: No machine's clocks lie further apart: that is over 3,000 years.
_FURTHEST_MS: Final = 10**14
#: The most readings kept for one boot. What was opened by an older one than these does not move.
_MOST: Final = 50
_TOLD_FOR_MS: Final = 24 * 60 * 60 * 1000
_OPENS: Final = frozenset(
    {Trigger.EXECUTE.value, EventKind.EXECUTE_HAPPENED, EventKind.MOVED_ALONG}
)
_DEADLINE: Final = "deadline_ms"
#: The field of an entry that tells by which clock an end was computed.
_AHEAD: Final = "ahead_ms"


@dataclass(frozen=True, slots=True)
class _Clock:
    """How far the wall clock was ahead of the boot clock, for entries after `after_seq`."""

    after_seq: int
    ahead_ms: int


async def take_up_clock(world: World, boot: str, ahead_ms: int) -> None:
    """Move what an earlier clock of this boot opened, note the clock of this process, and tell
    people.

    An open end is put off by as much as the wall clock was set forward since it was computed.
    `boot` is empty if the boot cannot be told apart; then, as after another boot, nothing is known
    and nothing moves.

    Raises StoreUnavailable; nothing may be done by this clock then. A proposal that had been moved
    before that is not moved a second time.
    """
    moment = world.moment()
    known = await world.store.read(lambda tx: _clocks_of(tx, boot))
    if known and abs(known[-1].ahead_ms - ahead_ms) < _SAME_MS:
        return
    head, _ = await world.store.read(lambda tx: tx.audit.head())
    most_ms = max((ahead_ms - each.ahead_ms for each in known), default=0)
    if most_ms > TOLERATED_MS:
        short = partial(_short_of_time, moment.now_ms - most_ms)
        unit = partial(_moved, moment, known, ahead_ms)
        await world.many.write(await world.store.read(short), unit)
    clocks = (*known, _Clock(head, ahead_ms))
    await world.write(partial(_noted, moment, boot, clocks, head))


def clock_moved(tx: Transaction, now_ms: int) -> str | None:
    """Return the words about a clock that had been set forward, for a day after that; else None.

    It is a view: it only reads.
    """
    moved = _kept(tx).get("moved")
    if not isinstance(moved, Mapping) or not isinstance(at_ms := moved.get("at_ms"), int):
        return None
    return str(moved.get("words")) if now_ms - at_ms < _TOLD_FOR_MS else None


def _kept(tx: Transaction) -> Mapping[str, Any]:
    kept = tx.flags.get(_FLAG)
    return kept if isinstance(kept, Mapping) else {}


def _clocks_of(tx: Transaction, boot: str) -> Sequence[_Clock]:
    """Return the clocks noted in this boot, oldest first; none if it is another or unknown."""
    kept = _kept(tx)
    if not boot or kept.get("boot") != boot:
        return ()
    try:
        return [_Clock(int(after_seq), _ahead(ahead_ms)) for after_seq, ahead_ms in kept["clocks"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return ()


def _ahead(told: Any) -> int:
    """Return a stored `ahead_ms` as a number.

    Raises TypeError, ValueError or OverflowError if it is none that a clock can have shown; such a
    note is ignored.
    """
    ahead_ms = int(told)
    if abs(ahead_ms) > _FURTHEST_MS:
        raise ValueError(told)
    return ahead_ms


def _noted(moment: Moment, boot: str, clocks: Sequence[_Clock], head: int, tx: Transaction) -> None:
    """Store the clocks of this boot, and announce what was moved after the entry `head`."""
    listed = [[each.after_seq, each.ahead_ms] for each in clocks[-_MOST:]]
    value: dict[str, Any] = {"boot": boot, "clocks": listed}
    since = tx.audit.exported(head, tx.audit.head()[0] - head)
    moved = [entry["details"] for entry in since if entry["kind"] == "moved_along"]
    if moved:
        words = _words(moved)
        value["moved"] = {"at_ms": moment.now_ms, "words": words}
        announce(tx, moment, f"clock_moved:{moment.now_ms}", words)
    tx.flags.put(_FLAG, value)


def _short_of_time(before_ms: int, tx: Transaction) -> list[str]:
    """Return the ids of open proposals whose time was not over yet at `before_ms`."""
    found = []
    for proposal_id in open_ids(tx):
        proposal = tx.proposals.get(proposal_id)
        ends_ms = _ends_ms(proposal)
        if ends_ms is not None and ends_ms > before_ms:
            found.append(proposal_id)
    return found


def _moved(
    moment: Moment,
    clocks: Sequence[_Clock],
    ahead_ms: int,
    tx: Transaction,
    proposal_ids: Sequence[str],
) -> int:
    """Put off the end of those of these proposals that would end early; return how many."""
    count = 0
    for proposal_id in proposal_ids:
        proposal = tx.proposals.get(proposal_id)
        ends_ms = _ends_ms(proposal)
        if proposal is None or ends_ms is None:
            continue
        by_ms = _later_by_ms(tx, proposal, clocks, ahead_ms)
        if by_ms > TOLERATED_MS and ends_ms > moment.now_ms - by_ms:
            told = {"by_ms": by_ms, _AHEAD: ahead_ms}
            _move(tx, moment, proposal, ends_ms + by_ms, told)
            count += 1
    return count


def _ends_ms(proposal: Proposal | None) -> int | None:
    """Return until when people have time, in ms UTC.

    Return None if no time counts for it, or if somebody wrote something that is no time into the
    row.
    """
    ends_ms = None if proposal is None else _reckoned(proposal)
    return ends_ms if isinstance(ends_ms, int) else None


def _reckoned(proposal: Proposal) -> int | None:
    """Return the deadline or window end that we computed ourselves, in ms UTC; None if there is
    none.

    A deadline that comes from a permit does not count: the permit has its end signed into it.
    """
    match proposal.state:
        case State.PENDING | State.SENTINEL_APPROVED:
            return None if proposal.permit_waits else proposal.deadline_ms
        case State.EXECUTING:
            execution = proposal.execution
            if execution is None or execution.verb is Verb.ROLL_BACK:
                return None
            opened = execution.window_opens_at_ms is not None  # else it is only staged
            return execution.window_closes_at_ms if opened else None
        case State.COMPLETED | State.REJECTED | State.ROLLED_BACK:
            return None
        case _:
            assert_never(proposal.state)


def _later_by_ms(
    tx: Transaction, proposal: Proposal, clocks: Sequence[_Clock], ahead_ms: int
) -> int:
    """Return how far the wall clock was set since the end was computed, in ms; 0 if it must not
    move.

    An end that the document itself names stays. So does the end of a row that is not as the trail
    tells: it gets no more time for what somebody wrote there. Moving begins nothing and commits
    nothing.
    """
    try:
        trail = tx.audit.without_attempts(proposal.proposal_id)
        if proposal.state is State.EXECUTING:
            ours = stands_as_told(tx, proposal)
            told = [entry for entry in trail if _opens(entry)]
        else:
            reviews = tx.reviews.of(proposal.proposal_id)
            ours = proposal.read().time_window is None
            ours = ours and not disagreements(proposal, trail, reviews)
            told = [e for e in trail if e is trail[0] or _DEADLINE in e.event.details]
        by = _ahead_by(clocks, told[-1]) if ours and told else None
    except (RowUnreadable, ValueError, TypeError, KeyError, OverflowError):
        return 0
    return 0 if by is None else ahead_ms - by


def _ahead_by(clocks: Sequence[_Clock], entry: AuditEntry) -> int | None:
    """Return the `ahead_ms` of the clock by which the end that `entry` tells was computed.

    Return None if that was no clock of this boot. An entry of an earlier move names its clock
    itself, since a start may have moved a proposal and failed before it noted its clock.
    """
    by = [each.ahead_ms for each in clocks if each.after_seq < entry.seq]
    return _ahead(entry.event.details.get(_AHEAD, by[-1])) if by else None


def _opens(entry: AuditEntry) -> bool:
    """Return True if an entry begins a window or puts off its end."""
    return entry.event.kind in _OPENS or opens_anew(entry)


def _move(
    tx: Transaction, moment: Moment, proposal: Proposal, ends_ms: int, told: Mapping[str, int]
) -> None:
    execution = proposal.execution
    if execution is None:
        amend(tx, moment, proposal, EventKind.MOVED_ALONG, CLOCK, details=told, deadline_ms=ends_ms)
        return
    later = replace(execution, window_closes_at_ms=ends_ms)
    told = {**told, WINDOW: ends_ms}
    amend(tx, moment, proposal, EventKind.MOVED_ALONG, CLOCK, details=told, execution=later)


def _words(moved: Sequence[Mapping[str, int]]) -> str:
    count = Counter(WINDOW in told for told in moved)
    parts = [_counted(count[True], "window"), _counted(count[False], "deadline")]
    by_ms = max(told["by_ms"] for told in moved)
    return (
        f"The machine's clock was set forward by {_span(by_ms)} since a former start read it, or "
        "the machine stood still. What was open keeps the time that it was given: "
        f"{' and '.join(filter(None, parts))} moved along. Permits, and times that documents name, "
        "end by the clock. Look why it was wrong; nothing else is to be done."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}" if number else ""


def _span(ms: int) -> str:
    minutes, hours = ms // 60_000, ms // 3_600_000
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
