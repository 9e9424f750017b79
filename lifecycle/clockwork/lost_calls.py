"""Calls that are under way by their rows and that nobody makes any more.

The store may have taken the intent and lost its answer, so that nobody called; or a mistake of ours
ended whoever did. Nothing else would ever come to such a row before the next start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from lifecycle.proposal import Proposal

#: Between the intent on disk and its call, or the answer and its row, a busy bot may need seconds.
LOST_MS: Final = 30_000
#: Where the machine slept, that time passes in between two looks.
LOOKS: Final = 5

_Which = tuple[str, int, int, int | None]


@dataclass(slots=True)
class _Look:
    """One call, since when nobody makes it, and how often that was seen."""

    which: _Which
    since_ms: int
    looks: int = 0


@dataclass(slots=True)
class LostCalls:
    """Remembers from round to round what nobody makes."""

    _before: dict[str, _Look] = field(default_factory=dict)
    _now: dict[str, _Look] = field(default_factory=dict)

    def look(self, page: Iterable[Proposal], made: Collection[str], now_ms: int) -> None:
        """See which of these running calls are not among those that are `made`."""
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
        """End the round; return what has been lost by now, each once."""
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
