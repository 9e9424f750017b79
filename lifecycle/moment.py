"""What a unit knows of now: the time, the policy in force, the surfaces. One value a verb."""

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

#: The end of the year 9999, behind which no calendar goes on.
_LAST_MS: Final = 253_402_300_799_999
#: So long what was seen is acted on. A busy machine needs seconds; hours pass where one sleeps.
_HOLDS_MS: Final = 30_000


@lru_cache(maxsize=1024)
def rfc3339(at_ms: int) -> str:
    """Write ms UTC as RFC 3339 with milliseconds and Z."""
    whole_s, millis = divmod(at_ms, 1000)
    return f"{_whole_second(whole_s)}.{millis:03d}Z"


def is_moment(told: object) -> TypeGuard[int]:
    """Say whether something that was written down is ms UTC that a calendar has a day for."""
    return isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= _LAST_MS


def ms_of(at: str) -> int:
    """Return ms UTC of what `rfc3339` wrote."""
    return round(datetime.fromisoformat(at).timestamp() * 1000)


@lru_cache(maxsize=1024)
def _whole_second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()[:19]


def later(noted_ms: int, at_ms: int, now_ms: int) -> int:
    """Return the later of two moments, ms UTC; what was noted as later than now was noted by a
    clock that has been set back since, and says nothing."""
    return max(at_ms, noted_ms) if noted_ms <= now_ms else at_ms


def clock_words(at_ms: int) -> str:
    """Write ms UTC as people read it: 2026-03-02 12:15:00 UTC."""
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Moment:
    """A frozen view for one unit.

    `answering` says that the proposer waits for this very answer, so that the message about the
    end may hold back for a moment. `held` are the ids whose stop waits in the spool, live: a unit
    that waited for the store sees the stop that was spooled meanwhile. So are those that were
    `heard` and wait to be worked. While `stopping` nothing new begins. `clock_ms` says how late it
    has become since the moment was taken: the store may have stood still, or the machine slept.
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
    stopping: bool = False
    clock_ms: Callable[[], int] | None = None

    def is_long_since(self, at_ms: int) -> bool:
        """Say whether what was looked at then, in ms UTC, was looked at too long ago to act on."""
        now_ms = self.now_ms if self.clock_ms is None else self.clock_ms()
        return now_ms - at_ms > _HOLDS_MS

    def by_now(self) -> Moment:
        """Return what this moment has become, where a unit waited for the store."""
        return self if self.clock_ms is None else replace(self, now_ms=self.clock_ms())

    @property
    def at(self) -> str:
        """The time as the audit trail writes it."""
        return rfc3339(self.now_ms)
