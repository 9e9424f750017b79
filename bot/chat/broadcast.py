"""The notifier over all surfaces: one platform's failure is never the other's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from bot.chat.commands import Commands
from bot.chat.delivery import Delivery
from bot.chat.surface import Surface
from bot.chat.watching import Watch
from bot.expected import StartFailed
from lifecycle.ports import StoreUnavailable
from lifecycle.workflow import Workflow
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: A surface that does not answer within this holds up neither a closing nor a quorum.
_PATIENCE_S: Final = 10.0


class ServedSurface(Surface, Protocol):
    """A surface on which people are met."""

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Hear people and agents until the surface ends; cancelled when the bot stops."""


class Broadcast:
    """The Notifier port. Built from the surfaces, then given the world that it notifies about.

    `summaries` is the law of each rule in a sentence, for the command `rules`.
    """

    def __init__(
        self, surfaces: Sequence[ServedSurface], summaries: Mapping[str, str] | None = None
    ) -> None:
        self._surfaces = {surface.name: surface for surface in surfaces}
        self._summaries = summaries or {}
        self._deliveries: dict[str, Delivery] = {}
        self._world: World | None = None
        self._watch: Watch | None = None

    def attach(self, world: World) -> None:
        """Take the world; before that, nothing is delivered."""
        self._world = world
        self._watch = Watch(world)
        self._deliveries = {
            name: Delivery(world, surface) for name, surface in self._surfaces.items()
        }

    def delivery(self, name: str) -> Delivery:
        """Return the deliverer of one surface; raises KeyError."""
        return self._deliveries[name]

    async def serve(self, workflow: Workflow) -> None:
        """Deliver, and meet people until the last surface has ended."""
        if self._world is not workflow.world:
            self.attach(workflow.world)
        commands = Commands(workflow, health=self.health, summaries=self._summaries)
        running = [asyncio.create_task(each.run()) for each in self._deliveries.values()]
        self.nudge()
        try:
            await asyncio.gather(
                *(
                    self._served(surface, commands, self._deliveries[name])
                    for name, surface in self._surfaces.items()
                )
            )
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _served(self, surface: ServedSurface, commands: Commands, delivery: Delivery) -> None:
        """Serve one surface; one that cannot start at all ends the bot only where it is alone."""
        try:
            await surface.serve(commands, delivery)
        except StartFailed as failure:
            if len(self._surfaces) == 1:
                raise
            log.error("%s is off, the others go on: %s", surface.name, failure)

    async def close(self) -> None:
        """Show what is still to be shown."""
        drained = (delivery.drain() for delivery in self._deliveries.values())
        await asyncio.gather(*drained, return_exceptions=True)

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
            asyncio.wait_for(self._surfaces[card.surface].read_card(card), _PATIENCE_S)
            for card in cards
            if card.surface in self._surfaces
        ]
        results = await asyncio.gather(*read, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                log.warning("a card could not be read: %s", type(result).__name__)
        return any(result is True for result in results)

    async def catch_up(self) -> int:
        """Read the open cards of every surface that had a gap; tell who hears nothing."""
        results = await asyncio.gather(
            *(surface.catch_up() for surface in self._surfaces.values()), return_exceptions=True
        )
        if self._watch is not None:
            await self._watch.look(self._surfaces.values(), self.surfaces(), self.health())
        return sum(result for result in results if isinstance(result, int))

    async def lost_members(self, people: Iterable[str]) -> frozenset[str]:
        """Return who has an account on some surface and is a member on none of them.

        Whoever has no account on any configured surface is not lost: the config knows them.
        """
        wanted = frozenset(people)
        seen: dict[str, bool] = {}
        asked = (surface.membership(wanted) for surface in self._surfaces.values())
        for membership in await asyncio.gather(*asked):
            for person, member in membership.items():
                seen[person] = seen.get(person, False) or member
        return frozenset(person for person, member in seen.items() if not member)

    def health(self) -> tuple[str, ...]:
        """Return the lines of all surfaces for `status`."""
        return tuple(line for surface in self._surfaces.values() for line in surface.health())
