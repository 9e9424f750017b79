"""The notifier over all surfaces: one platform's failure is never the other's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from bot.chat.delivery import Delivery
from bot.chat.surface import Surface
from lifecycle.ports import StoreUnavailable
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")


class Broadcast:
    """The Notifier port. Built from the surfaces, then given the world that it notifies about."""

    def __init__(self, surfaces: Sequence[Surface]) -> None:
        self._surfaces = {surface.name: surface for surface in surfaces}
        self._deliveries: dict[str, Delivery] = {}
        self._world: World | None = None

    def attach(self, world: World) -> None:
        """Take the world; before that, nothing is delivered."""
        self._world = world
        self._deliveries = {
            name: Delivery(world, surface) for name, surface in self._surfaces.items()
        }

    def delivery(self, name: str) -> Delivery:
        """Return the deliverer of one surface; raises KeyError."""
        return self._deliveries[name]

    async def run(self) -> None:
        """Deliver on all surfaces until cancelled."""
        async with asyncio.TaskGroup() as group:
            for delivery in self._deliveries.values():
                delivery.nudge()
                group.create_task(delivery.run())

    def nudge(self) -> None:
        """Say that cards or messages may be waiting."""
        for delivery in self._deliveries.values():
            delivery.nudge()

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""
        return tuple(self._surfaces)

    async def read_cards(self, proposal_id: str) -> bool:
        """Read the proposal's cards on all surfaces; True where one was read or had no gap."""
        if self._world is None:
            return False
        try:
            cards = await self._world.store.read(lambda tx: tx.cards.of(proposal_id))
        except StoreUnavailable:
            return False
        read = [
            self._surfaces[card.surface].read_card(card)
            for card in cards
            if card.surface in self._surfaces
        ]
        results = await asyncio.gather(*read, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                log.warning("a card could not be read: %s", type(result).__name__)
        return any(result is True for result in results)

    async def catch_up(self) -> int:
        """Read the open cards of every surface that had a gap."""
        results = await asyncio.gather(
            *(surface.catch_up() for surface in self._surfaces.values()), return_exceptions=True
        )
        return sum(result for result in results if isinstance(result, int))

    async def lost_members(self, people: Iterable[str]) -> frozenset[str]:
        """Return who has an account on some surface and is a member on none of them.

        Whoever has no account on any configured surface is not lost: the config knows them.
        """
        wanted = frozenset(people)
        seen: dict[str, bool] = {}
        for surface in self._surfaces.values():
            membership = await surface.membership(wanted)
            for person, member in membership.items():
                seen[person] = seen.get(person, False) or member
        return frozenset(person for person, member in seen.items() if not member)

    def health(self) -> tuple[str, ...]:
        """Return the lines of all surfaces for `status`."""
        return tuple(line for surface in self._surfaces.values() for line in surface.health())
