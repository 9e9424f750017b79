"""Joins all surfaces into the Notifier port, so that the failure of one never stops another."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from bot.chat.commands.commands import Commands
from bot.chat.hearing.card_readings import PATIENCE_S, CardReadings, went_well
from bot.chat.hearing.closed_unread import ClosedUnread
from bot.chat.hearing.others import Ears, moved
from bot.chat.showing.delivery import Delivery
from bot.chat.showing.watching import Hears, Watch
from bot.chat.surface import Surface
from bot.chat.turns import Rank, Turn, taking_turns_as
from bot.clocks.strayed import clock_strayed
from bot.expected import StartFailed
from bot.process.cancelling import being_cancelled
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card, Message
from lifecycle.review import Absent
from lifecycle.stops.spooling import held_words
from lifecycle.workflow import Workflow
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: The pauses in seconds before a surface that ended by a mistake of ours is begun anew.
_BEGIN_ANEW_S: Final = (1, 5, 30, 60)


class ServedSurface(Surface, Protocol):
    """A surface that can be served: one on which people and agents are heard."""

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Hear people and agents until the surface ends; cancelled when the bot stops."""


class Broadcast:
    """Implements the Notifier port; built from the surfaces, and later given the world.

    `summaries` maps each rule to its law in one sentence, for the command `rules`.
    """

    def __init__(
        self, surfaces: Sequence[ServedSurface], summaries: Mapping[str, str] | None = None
    ) -> None:
        self._surfaces = {surface.name: surface for surface in surfaces}
        self._ears = Ears(self._surfaces)
        self._summaries = summaries or {}
        self._deliveries: dict[str, Delivery] = {}
        self._world: World | None = None
        self._watch: Watch | None = None
        self._closed_unread: ClosedUnread | None = None
        self._readings = CardReadings(self._surfaces, self._now_ms)
        self._catching: dict[str, asyncio.Task[int]] = {}
        self._late: asyncio.Task[None] | None = None
        self._alerting: set[asyncio.Task[None]] = set()
        self._alerts = itertools.count()
        self._serving: set[str] = set()

    def attach(self, world: World) -> None:
        """Take the world whose news are shown; nothing is delivered before that."""
        self._world = world
        self._watch = Watch(world)
        self._closed_unread = ClosedUnread(world)
        self._deliveries = {
            name: Delivery(world, surface) for name, surface in self._surfaces.items()
        }

    def delivery(self, name: str) -> Delivery:
        """Return the Delivery of one surface; raises KeyError."""
        return self._deliveries[name]

    async def serve(self, workflow: Workflow, *, on: bool = False) -> None:
        """Deliver, and hear people until the last surface has ended; then, if `on`, deliver.

        A terminal whose input has ended still shows what is proposed through other doors.
        """
        if self._world is not workflow.world:
            self.attach(workflow.world)
        commands = Commands(workflow, health=self.health, summaries=self._summaries)
        running = [asyncio.create_task(each.run()) for each in self._deliveries.values()]
        self.nudge()
        try:
            await asyncio.gather(
                *(
                    self._until_its_end(surface, commands, self._deliveries[name], on=on)
                    for name, surface in self._surfaces.items()
                )
            )
            if on:
                await asyncio.Event().wait()
        finally:
            asking = (*self._catching.values(), *self._ears.asking.values())
            late = () if self._late is None else (self._late,)
            ending = (*running, *self._readings.tasks(), *asking, *late, *self._alerting)
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    async def _until_its_end(
        self, surface: ServedSurface, commands: Commands, delivery: Delivery, *, on: bool
    ) -> None:
        """Serve one surface; log its end if the bot goes on without it, as after Ctrl-D."""
        self._serving.add(surface.name)
        ended = await self._served(surface, commands, delivery)
        self._serving.discard(surface.name)
        if ended and (on or self._serving):
            log.warning(
                "%s has ended; the bot goes on without it, until Ctrl-C or SIGTERM", surface.name
            )

    async def _served(self, surface: ServedSurface, commands: Commands, delivery: Delivery) -> bool:
        """Serve one surface. Return True once it has ended by itself, False if it cannot start.

        The only surface raises StartFailed instead. Any other error is a mistake of ours: the
        surface is begun anew, so that the bot is neither deaf nor dead.
        """
        pauses = itertools.chain(_BEGIN_ANEW_S, itertools.repeat(_BEGIN_ANEW_S[-1]))
        while True:
            pause_s = next(pauses)
            try:
                await surface.serve(commands, delivery)
                return True
            except StartFailed as failure:
                if len(self._surfaces) == 1:
                    raise
                log.error("%s is off, the others go on: %s", surface.name, failure)
                return False
            except asyncio.CancelledError:
                if being_cancelled():
                    raise
                log.error("%s ended by itself and is begun anew in %d s", surface.name, pause_s)
            except Exception as error:
                log.error("%s met %s, begun anew in %d s", surface.name, located(error), pause_s)
            await commands.workflow.world.clock.sleep(pause_s)

    async def close(self) -> None:
        """Deliver once more all that is due; a failure there is no failure of closing."""
        drained = (delivery.drain() for delivery in self._deliveries.values())
        await asyncio.gather(*drained, return_exceptions=True)

    def nudge(self) -> None:
        """Tell every delivery that cards or messages may be waiting."""
        for delivery in self._deliveries.values():
            delivery.nudge()

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""
        return tuple(self._surfaces)

    async def read_cards(self, proposal_id: str) -> bool:
        """Read the proposal's cards on all surfaces; True if one was read or can hide nothing.

        False as well if the store fails, or if the unread ones cannot be noted for later.
        """
        if self._world is None:
            return False
        asked, seen = dict[str, Card](), dict[str, bool]()
        try:
            # A card that is placed while the others are read may have stood there before its row.
            while fresh := await moved(self._world, proposal_id, asked):
                asked.update((card.surface, card) for card in fresh)
                here = [card for card in fresh if card.surface in self._surfaces]
                read = await asyncio.gather(*map(self._readings.read, here))
                seen.update(zip((card.surface for card in here), read, strict=True))
        except StoreUnavailable:
            return False
        if not any(seen.values()):
            return False
        return await self._noted([asked[name] for name, was_read in seen.items() if not was_read])

    async def _noted(self, unread: Sequence[Card]) -> bool:
        """Note that these cards may hold a ❌ to be read later; False if the store fails."""
        try:
            if self._closed_unread is not None:
                await self._closed_unread.note(unread)
        except StoreUnavailable:
            return False
        return True

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Hear every ❌ on surfaces in a gap, `but` one; False if a ✅ must still wait for it."""
        if self._world is None:
            return True
        counts, unheard = await self._ears.hear_others(self._world, proposal_id, but)
        # What is unheard must be noted before a ✅ counts: that may close a window early.
        return await self._noted(unheard) and counts

    def _now_ms(self) -> int:
        return self._world.clock.now_ms() if self._world is not None else 0

    async def catch_up(self) -> int:
        """Read the open cards of surfaces that had a gap; return how many decisions were new.

        Also tell on the other surfaces who hears nothing, and begin to read what closed unread.
        """
        results = await self._caught_up()
        if self._watch is not None:
            await self._watch.look(self._surfaces.values(), self.surfaces(), self.health())
        if self._closed_unread is not None and (self._late is None or self._late.done()):
            self._late = asyncio.create_task(self._read_late(self._closed_unread))
        return sum(results)

    async def _read_late(self, unread: ClosedUnread) -> None:
        """Read cards over which a window closed while their surface was deaf; runs as a task."""
        deaf = {each.name for each in self._surfaces.values() if _is_deaf(each)}
        try:
            await unread.read(self._surfaces.keys() - deaf, self._readings.read)
        except StoreUnavailable:
            pass  # the next round goes on
        except Exception as error:
            log.error("what closed unread was not read: %s", located(error))

    async def _caught_up(self) -> list[int]:
        """Let every surface catch up. A slow one goes on alone and is not begun twice."""
        for name, surface in self._surfaces.items():
            if name not in self._catching:
                self._catching[name] = asyncio.create_task(surface.catch_up())
        if self._catching:  # with HTTP alone there is no surface
            await asyncio.wait(self._catching.values(), timeout=PATIENCE_S)
        ended = {name: task for name, task in self._catching.items() if task.done()}
        for name, task in ended.items():
            self._catching.pop(name)
            if not task.cancelled() and task.exception() is not None:
                log.warning("%s could not catch up: %s", name, located(task.exception()))
        return [each.result() for each in ended.values() if went_well(each)]

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        """Return which people have an account on some surface and are a member on none of them, and
        which accounts, as (person, surface), are no members.

        People without an account on any surface are not lost: the config knows them. With
        `only_certain`, nor is anybody whose membership cannot be read now.
        """
        wanted = frozenset(people)
        asked = (surface.membership(wanted) for surface in self._surfaces.values())
        answers = dict(zip(self._surfaces, await asyncio.gather(*asked), strict=True))
        spared = (True, None) if only_certain else (True,)
        here, absent = set[str](), set[tuple[str, str]]()
        for surface, membership in answers.items():
            for person, member in membership.items():
                if member in spared:
                    here.add(person)
                else:
                    absent.add((person, surface))
        return frozenset(absent) | {person for person, _ in absent if person not in here}

    def alert(self, words: str) -> None:
        """Say something on every surface now, without the store: its failure is the subject."""
        log.error("%s", words)
        if self._world is None:
            return
        number, now_ms = next(self._alerts), self._world.clock.now_ms()
        for name, surface in self._surfaces.items():
            key, body = f"alert:{now_ms}:{number}@{name}", {"text": words}
            message = Message(key, name, "", "announcement", body, now_ms)
            task = asyncio.create_task(_said(surface, message))
            self._alerting.add(task)
            task.add_done_callback(self._alerting.discard)

    def health(self) -> tuple[str, ...]:
        """Return the lines for `status`: the bot's own trouble first, then each surface's lines."""
        world = self._world
        ours = _own_health(world) if world is not None else ()
        lines = [line for surface in self._surfaces.values() for line in surface.health()]
        return (*filter(None, ours), *lines)


def _is_deaf(surface: object) -> bool:
    return isinstance(surface, Hears) and surface.trouble() is not None


def _own_health(world: World) -> tuple[str | None, ...]:
    return (
        world.troubles.unwritten.words(),
        *world.troubles.failing.words(),
        held_words(world),
        clock_strayed(world.clock),
    )


async def _said(surface: Surface, message: Message) -> None:
    """Say a message once. A surface that cannot has trouble of its own, and reports that."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            with taking_turns_as(Turn(Rank.FIRST)):
                await surface.say(message)
    except Exception as error:
        log.warning("%s could not be told: %s", surface.name, located(error))
