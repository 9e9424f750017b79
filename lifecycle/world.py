"""What the verbs work with: the world around them, the law in force, and this moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lifecycle.background import Background
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.heard import HeardStops
from lifecycle.many import Many
from lifecycle.moment import Moment
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.surroundings import Surroundings
from lifecycle.troubles import Troubles
from lifecycle.units import Units

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Law:
    """A policy and the Sentinel that was built from it; swapped as one."""

    policy: Policy
    sentinel: Sentinel


@dataclass(slots=True, kw_only=True)
class World(Surroundings):
    """What the verbs work with. `nonce` gives unguessable strings.

    `held` are the ids whose stop waits in the spool, `heard` the stops that wait to be worked,
    `unspooled` those that neither the store nor the spool has taken.
    """

    ring: KeyRing
    nonce: Callable[[], str]
    law: Law
    public_url: str = ""
    held: set[str] = field(default_factory=set)
    heard: HeardStops = field(default_factory=HeardStops)
    unspooled: list[Mapping[str, Any]] = field(default_factory=list)
    troubles: Troubles = field(init=False)
    units: Units = field(init=False)
    many: Many = field(init=False)
    background: Background = field(init=False)

    def __post_init__(self) -> None:
        """Put together what works with the ports."""
        self.troubles = Troubles(self)
        self.units = Units(self, self.troubles)
        self.many = Many(self.units, self.troubles)
        self.background = Background(self.troubles)

    def moment(self, *, answering: bool = False) -> Moment:
        """Return this moment, for one unit."""
        return Moment(
            now_ms=self.clock.now_ms(),
            clock_ms=self.clock.now_ms,
            policy=self.law.policy,
            surfaces=self.notifier.surfaces(),
            ring=self.ring,
            nonce=self.nonce,
            public_url=self.public_url,
            answering=answering,
            held=self.held,
            heard=self.heard,
            stopping=self.stopping,
        )

    async def write(self, unit: Callable[[Transaction], T], *, news: bool = True) -> T:
        """Run a unit, then let the surfaces know that there may be something to show (`news`)."""
        return await self.units.write(unit, news=news)

    async def write_surely(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit that must not be lost, with back-off until the store takes it."""
        return await self.units.write_surely(unit)

    async def read_surely(self, step: str, view: Callable[[Transaction], T]) -> T:
        """Run a view that must be read, as `Units.read_surely` says."""
        return await self.units.read_surely(step, view)
