"""The notifier over all surfaces: one platform's failure is never the other's."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from bot.chat.commands import Commands
from bot.chat.delivery import Delivery
from bot.chat.surface import Surface
from bot.chat.watching import Watch
from bot.expected import StartFailed
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.workflow import Workflow
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: A surface that does not answer within this holds up neither a closing nor a quorum.
_PATIENCE_S: Final = 10.0


#: A surface that ended although nobody ended it is begun anew after so long, in seconds.
_BEGIN_ANEW_S: Final = (1, 5, 30, 60)


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
        self._reading: dict[tuple[str, str], asyncio.Task[bool]] = {}

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
            ending = (*running, *self._reading.values())
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    async def _served(self, surface: ServedSurface, commands: Commands, delivery: Delivery) -> None:
        """Serve one surface; one that cannot start at all ends the bot only where it is alone.

        Whatever else ends it is a mistake of ours, and no reason for the bot to be deaf or dead.
        """
        for pause_s in itertools.chain(_BEGIN_ANEW_S, itertools.repeat(_BEGIN_ANEW_S[-1])):
            try:
                await surface.serve(commands, delivery)
                return
            except StartFailed as failure:
                if len(self._surfaces) == 1:
                    raise
                log.error("%s is off, the others go on: %s", surface.name, failure)
                return
            except asyncio.CancelledError:
                if _being_cancelled():
                    raise
                log.error("%s ended by itself and is begun anew in %d s", surface.name, pause_s)
            except Exception as error:
                what = type(error).__name__
                log.exception("%s met %s, begun anew in %d s", surface.name, what, pause_s)
            await commands.workflow.world.clock.sleep(pause_s)

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
        asked = (self._read(card) for card in cards if card.surface in self._surfaces)
        return any(await asyncio.gather(*asked))

    async def _read(self, card: Card) -> bool:
        """Read one card, in time. What is late is left to itself and never cancelled: half of a
        platform's call given up may keep all its later ones waiting."""
        key = (card.surface, card.proposal_id)
        begun = self._reading.get(key)
        if begun is not None:
            await asyncio.wait({begun}, timeout=_PATIENCE_S)
        if key in self._reading:
            return False
        reading = asyncio.create_task(self._surfaces[card.surface].read_card(card))
        self._reading[key] = reading
        reading.add_done_callback(lambda _: self._reading.pop(key, None))
        await asyncio.wait({reading}, timeout=_PATIENCE_S)
        if reading.done() and not reading.cancelled() and reading.exception() is None:
            return reading.result()
        failed = reading.done() and not reading.cancelled()
        why = type(reading.exception()).__name__ if failed else "no answer in time"
        log.warning("a card could not be read: %s", why)
        return False

    async def catch_up(self) -> int:
        """Read the open cards of every surface that had a gap; tell who hears nothing."""
        results = await asyncio.gather(
            *(surface.catch_up() for surface in self._surfaces.values()), return_exceptions=True
        )
        if self._watch is not None:
            await self._watch.look(self._surfaces.values(), self.surfaces(), self.health())
        return sum(result for result in results if isinstance(result, int))

    async def lost_members(self, people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        """Return who has an account on some surface and is a member on none of them.

        Whoever has no account on any configured surface is not lost: the config knows them.
        `surely`: nor is whoever may be a member on a surface that cannot be read now.
        """
        wanted = frozenset(people)
        seen: dict[str, list[bool | None]] = {}
        asked = (surface.membership(wanted) for surface in self._surfaces.values())
        for membership in await asyncio.gather(*asked):
            for person, member in membership.items():
                seen.setdefault(person, []).append(member)
        spared = (True, None) if surely else (True,)
        return frozenset(who for who, found in seen.items() if not any(m in spared for m in found))

    def health(self) -> tuple[str, ...]:
        """Return the lines of all surfaces for `status`."""
        return tuple(line for surface in self._surfaces.values() for line in surface.health())


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
