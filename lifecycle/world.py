"""The world is what the verbs work with: the ports, the law in force, and the stops that wait.

The bot makes one World at its start; the verbs take a moment from it and run their units by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.hands import Hands
from lifecycle.heard import HeardStops
from lifecycle.moment import Moment
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.surroundings import Surroundings
from lifecycle.workings.background import Background
from lifecycle.workings.many import Many
from lifecycle.workings.troubles import Troubles
from lifecycle.workings.units import Units

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Law:
    """A policy and the Sentinel that was built from it; swapped as one."""

    policy: Policy
    sentinel: Sentinel


@dataclass(slots=True, kw_only=True)
class World(Surroundings):
    """The ports and all live state of the law. `nonce` gives unguessable strings, `started_in` the
    folder in which the bot runs, "" if that is not known.

    - `held`: ids of proposals of which a stop waits in the spool
    - `heard`: stops that were heard and are not processed yet
    - `hands`: since when each account is whose it is
    - `unspooled`: stops that neither the store nor the spool has taken, in memory alone
    """

    ring: KeyRing
    nonce: Callable[[], str]
    law: Law
    public_url: str = ""
    started_in: Callable[[], str] = lambda: ""
    held: set[str] = field(default_factory=set)
    heard: HeardStops = field(default_factory=HeardStops)
    hands: Hands = field(default_factory=Hands)
    unspooled: list[Mapping[str, Any]] = field(default_factory=list)
    troubles: Troubles = field(init=False)
    units: Units = field(init=False)
    many: Many = field(init=False)
    background: Background = field(init=False)

    def __post_init__(self) -> None:
        """Put together the parts that work with the ports."""
        self.troubles = Troubles(self)
        self.units = Units(self, self.troubles)
        self.many = Many(self.units, self.troubles)
        self.background = Background(self.troubles)

    def moment(self, *, answering: bool = False) -> Moment:
        """Return what one unit may know of now. Its `held` and `heard` are these very objects."""
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
            ending=self.ending,
        )

    async def write(self, unit: Callable[[Transaction], T], *, news: bool = True) -> T:
        """Run a unit, then let the surfaces know that there may be something to show (`news`).

        This is the normal way to write; `units` says when another one is right.
        """
        return await self.units.write(unit, news=news)

    async def write_until_taken(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit that must not be lost, with back-off until the store takes it."""
        return await self.units.write_until_taken(unit)

    async def read_until_answered(self, step: str, view: Callable[[Transaction], T]) -> T:
        """Run a view that must be read, as `Units.read_until_answered` does."""
        return await self.units.read_until_answered(step, view)
