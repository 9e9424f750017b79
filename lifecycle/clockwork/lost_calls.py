"""Find calls that are running by their rows although no task of this process makes them any more.

The store may have written the intent and its answer was lost, so that nobody called; or a fault of
ours ended the task that was to call. Without this, nothing would happen to such a row before the
next start. `Recoverer` asks here once a round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from lifecycle.proposal import Proposal

#: A call counts as lost after this long. A busy bot may need seconds between the intent on disk and
#: its call, or between the answer and its row.
LOST_MS: Final = 30_000
#: ... and after this many looks, since a machine that sleeps lets that time pass between two looks.
LOOKS: Final = 5

_Which = tuple[str, int, int, int | None]


@dataclass(slots=True)
class _Look:
    """A call that nobody makes: since when, and how many rounds have seen that."""

    which: _Which
    since_ms: int
    looks: int = 0


@dataclass(slots=True)
class LostCalls:
    """Remembers from round to round which running calls nobody makes."""

    _before: dict[str, _Look] = field(default_factory=dict)
    _now: dict[str, _Look] = field(default_factory=dict)

    def look(self, page: Iterable[Proposal], made: Collection[str], now_ms: int) -> None:
        """Note those of these running calls whose proposal is not in `made`."""
        for proposal in page:
            named, which = proposal.proposal_id, _which(proposal)
            if named in made or which is None:
                continue
            known = self._before.get(named)
            if known is None or known.which != which:
                known = _Look(which, now_ms)
            known.looks += 1
            self._now[named] = known

    def found(self, now_ms: int) -> list[str]:
        """End the round; return the ids of calls that count as lost now, each of them once."""
        lost = [k for k, each in self._now.items() if _is_lost(each, now_ms)]
        self._before, self._now = self._now, {}
        for named in lost:
            del self._before[named]
        return lost


def _is_lost(look: _Look, now_ms: int) -> bool:
    return look.looks >= LOOKS and now_ms - look.since_ms >= LOST_MS


def _which(proposal: Proposal) -> _Which | None:
    execution = proposal.execution
    if execution is None:
        return None
    return execution.verb.value, execution.attempt, execution.tries, execution.began_at_ms
