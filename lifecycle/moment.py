"""A moment is what one unit may know of now, such as the time, the policy and the surfaces.

A verb takes one moment by `World.moment` and hands it to its unit, so that all that the unit writes
tells the same time. Beside it stand the few functions that turn milliseconds into text.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeGuard

from lifecycle.heard import HeardStops
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy

#: The end of the year 9999: Python's calendar has no later day.
LAST_MS: Final = 253_402_300_799_999
#: For this long a unit may act on what was seen. A busy machine needs seconds of it; a machine that
#: slept may come back hours later.
_HOLDS_MS: Final = 30_000


@lru_cache(maxsize=1024)
def rfc3339(at_ms: int) -> str:
    """Write ms UTC as RFC 3339 with milliseconds and Z."""
    whole_s, millis = divmod(at_ms, 1000)
    return f"{_whole_second(whole_s)}.{millis:03d}Z"


def is_moment(told: object) -> TypeGuard[int]:
    """Return whether a stored value is ms UTC of a day that a calendar has."""
    return isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= LAST_MS


def on_calendar(at_ms: int) -> int:
    """Return a time, or the nearest one of a day that a calendar has.

    What is blocked is stored before anybody asks whether its times can be meant.
    """
    return min(max(at_ms, 0), LAST_MS)


def ms_of(at: str) -> int:
    """Return the ms UTC that `rfc3339` wrote."""
    return round(datetime.fromisoformat(at).timestamp() * 1000)


@lru_cache(maxsize=1024)
def _whole_second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()[:19]


def later(noted_ms: int, at_ms: int, now_ms: int) -> int:
    """Return the later of two moments, ms UTC. A noted moment that is later than now counts for
    nothing: it was noted by a clock that has been set back since."""
    return max(at_ms, noted_ms) if noted_ms <= now_ms else at_ms


def clock_words(at_ms: int) -> str:
    """Write ms UTC as people read it: 2026-03-02 12:15:00 UTC."""
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Moment:
    """What one unit may know of now. No field can be set anew; three of them show live state.

    Fixed when the moment is taken:

    - `now_ms`: the time, ms UTC
    - `answering`: the proposer waits for this very answer, so that the message about the end may be
      held back for a moment
    - `ending`: the bot is ending, and nothing new begins

    Live, so that a unit that waited for the store sees what came meanwhile, and may see them change
    while it runs:

    - `held`: ids of proposals of which a stop waits in the spool
    - `heard`: stops that were heard and are not processed yet
    - `clock_ms`: asks the clock how late it has become since; the store may have stood still, or
      the machine slept. None means that no more than `now_ms` is known
    """

    now_ms: int
    policy: Policy
    surfaces: tuple[str, ...]
    ring: KeyRing
    nonce: Callable[[], str]
    public_url: str = ""
    answering: bool = False
    held: AbstractSet[str] = frozenset()
    heard: HeardStops = field(default_factory=HeardStops)
    ending: bool = False
    clock_ms: Callable[[], int] | None = None

    def is_long_since(self, at_ms: int) -> bool:
        """Return whether what was seen at `at_ms` (ms UTC) is too old to act on."""
        now_ms = self.now_ms if self.clock_ms is None else self.clock_ms()
        return now_ms - at_ms > _HOLDS_MS

    def by_now(self) -> Moment:
        """Return this moment with the present time, for a unit that had to wait for the store."""
        return self if self.clock_ms is None else replace(self, now_ms=self.clock_ms())

    @property
    def at(self) -> str:
        """The time as the audit trail writes it."""
        return rfc3339(self.now_ms)
