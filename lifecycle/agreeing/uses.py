"""Compare the evaluations that count for the rates of proposers with the trail (ADR 0013).

`audit verify` alone compares them; the entries of the last day suffice.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lifecycle.authority import check_of
from lifecycle.event_kinds import EventKind
from lifecycle.moment import ms_of
from lifecycle.ports import Transaction
from lifecycle.tier import Tier

_Entry = Mapping[str, Any]
#: Evaluations are kept this long; no rate reaches back further.
_KEPT_MS: Final = 86_400_000


@dataclass(slots=True)
class UsesTold:
    """The submissions, and checks that count, of the last day that entries tell of, as (proposer,
    tool or `check_of` it, time in ms UTC)."""

    told: deque[tuple[str, str, int]] = field(default_factory=deque)
    newest_ms: int = 0
    last_at: str = ""
    last_ms: int = 0

    def take(self, entry: _Entry) -> None:
        """Note a submission or a check; ignore other kinds of entries, and tools of tier BLOCK."""
        at = str(entry.get("at"))
        try:
            at_ms = self._ms_of(at)
        except ValueError:
            return  # a broken link, which is named as one
        actor, counted_as = entry.get("actor"), _counted_as(entry)
        if counted_as is None or not isinstance(actor, Mapping):
            return
        self.told.append((str(actor.get("id")), counted_as, at_ms))
        while self.told[0][2] < at_ms - _KEPT_MS:
            self.told.popleft()

    def _ms_of(self, at: str) -> int:
        """Return ms UTC; entries of one moment share the parsing. Raises ValueError if it is no
        time."""
        if at != self.last_at:
            self.last_at, self.last_ms = at, ms_of(at)
            self.newest_ms = max(self.newest_ms, self.last_ms)
        return self.last_ms

    def disagreements(self, tx: Transaction) -> list[str]:
        """Return a sentence for each proposer and tool of which fewer evaluations are stored than
        told.

        More are no fault: a repeat counts as well, and so does what was refused after its rate was
        asked.
        """
        if not self.told:
            return []
        # The store may have forgotten what is a day older than the newest entry of any kind.
        since_ms = max(self.newest_ms, *(at_ms for _, _, at_ms in self.told)) - _KEPT_MS
        within: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for actor, tool, at_ms in self.told:
            if at_ms >= since_ms:
                within[actor, tool][at_ms] += 1
        found = []
        for (actor, tool), told in sorted(within.items()):
            missing = (told - Counter(tx.uses.since(actor, tool, since_ms - 1))).total()
            if missing:
                words = f"{missing} evaluations of {tool} that the trail tells of do not count"
                found.append(f"rate of {actor}: {words}")
        return found


def _counted_as(entry: _Entry) -> str | None:
    """Return the name under which what the entry tells of counts, None if it counts for no rate."""
    kind, details = entry.get("kind"), entry.get("details")
    if not isinstance(details, Mapping):
        return None
    tool = str(details.get("tool"))
    if kind == EventKind.CHECKED:
        return check_of(tool)
    counts = kind == EventKind.SUBMITTED and details.get("tier") not in (Tier.BLOCK.value, None)
    return tool if counts else None
