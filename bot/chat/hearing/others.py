"""Looks for a ❌ on the other surfaces before a ✅ counts on one (design section 6).

After a restart, or a gap, one surface hears again before the other, and the ❌ that was given first
may stand where nobody has looked yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from bot.chat.hearing.card_readings import went_well
from bot.chat.hearing.hearing import Trouble
from bot.chat.hearing.known import on_its_way
from lifecycle.located import located
from lifecycle.records import Card
from lifecycle.workflow import Workflow
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: One look waits this long for a platform; a look that is late goes on without being waited for.
_ANSWERED_S: Final = 2.0
#: A ✅ waits this long for the other surfaces, then it counts.
WAITED_MS: Final = 10_000
_AGAIN_S: Final = 0.5
#: A wait that began longer ago than this is over; then another one begins.
_ANEW_MS: Final = 60_000
_MOST: Final = 1_000


@runtime_checkable
class HearsStops(Protocol):
    """A surface on which a ❌ may stand that nobody heard."""

    name: str

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear every ❌ on the proposal's card, if something may have been missed that was not read
        since; return False if it cannot be read now."""

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces were told, None if all is well."""


class Ears:
    """All surfaces, for code that asks what the others have heard."""

    def __init__(self, surfaces: Mapping[str, object]) -> None:
        self._surfaces = surfaces
        self.asking: dict[tuple[str, ...], asyncio.Task[bool]] = {}

    async def hear_others(
        self, world: World, proposal_id: str, but: str
    ) -> tuple[bool, Sequence[Card]]:
        """Look at the proposal's cards on surfaces that are in a gap, `but` one; return whether a
        ✅ may count, and the cards that nobody could look at.

        A surface in trouble is looked at but not waited for: people were told to decide elsewhere.
        Nor is a card waited for that may stand although no row says where: nobody can look at it.
        """
        asked, looked = dict[str, Card](), dict[str, tuple[HearsStops, Card, bool]]()
        # A card that is written down while others are looked at may have stood there before that.
        while fresh := await moved(world, proposal_id, asked):
            asked.update((card.surface, card) for card in fresh)
            ears = [(self._surfaces.get(card.surface), card) for card in fresh]
            here = [(ear, card) for ear, card in ears if isinstance(ear, HearsStops)]
            others = [(ear, card) for ear, card in here if ear.name != but]
            heard = await asyncio.gather(*(self._heard(ear, card) for ear, card in others))
            for (ear, card), was_heard in zip(others, heard, strict=True):
                looked[card.surface] = ear, card, was_heard
        now_ms = world.clock.now_ms()
        unheard = [c for _, c, was in looked.values() if not was or on_its_way(c, now_ms)]
        return not any(_waited_for(ear, was) for ear, _, was in looked.values()), unheard

    async def _heard(self, surface: HearsStops, card: Card) -> bool:
        """Look at one card, in time."""
        if not card.message_ids:
            return True
        key = (surface.name, card.proposal_id, card.message_ids[-1])
        task = self.asking.get(key)
        if task is None:
            task = self.asking[key] = asyncio.create_task(surface.stops_heard(card.proposal_id))
            task.add_done_callback(lambda _: self.asking.pop(key, None))
        await asyncio.wait({task}, timeout=_ANSWERED_S)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a card could not be read: %s", located(error))
        return went_well(task) and task.result()


async def moved(world: World, proposal_id: str, asked: Mapping[str, Card]) -> Sequence[Card]:
    """Return the cards of a proposal that were not `asked` for in the place in which they stand, or
    may stand, by now. Raises StoreUnavailable."""
    cards = await world.store.read(lambda tx: tx.cards.of(proposal_id))
    known = {surface: _where(card) for surface, card in asked.items()}
    return [card for card in cards if _where(card) != known.get(card.surface)]


def _where(card: Card) -> tuple[str, ...]:
    """Return the message in which a card stands, and the claim under which another is posted."""
    return ("" if card.delivered else card.claim, *card.message_ids[-1:])


def _waited_for(ear: HearsStops, was_heard: bool) -> bool:
    return not was_heard and ear.trouble() is None


class Elsewhere:
    """Asks the other surfaces on behalf of one; it waits for them, but not for ever."""

    def __init__(self, workflow: Workflow, surface: str) -> None:
        self._world = workflow.world
        self._surface = surface
        self._since_ms: dict[str, int] = {}

    async def heard(self, proposal_id: str) -> bool:
        """Return whether a ✅ may count; False if the others must be asked again in a moment."""
        if await self._all_heard(proposal_id):
            self._since_ms.pop(proposal_id, None)
            return True
        now_ms = self._world.clock.now_ms()
        since_ms = self._since_ms.get(proposal_id, now_ms)
        if now_ms - since_ms > _ANEW_MS:
            since_ms = now_ms
        if now_ms - since_ms >= WAITED_MS:
            log.warning("%s: a ✅ counts although another surface cannot be read", self._surface)
            self._since_ms.pop(proposal_id, None)
            return True
        if len(self._since_ms) >= _MOST:  # of which some may have ended meanwhile
            waits = self._since_ms.items()
            self._since_ms = {key: ms for key, ms in waits if now_ms - ms <= _ANEW_MS}
        self._since_ms[proposal_id] = since_ms
        return False

    async def _all_heard(self, proposal_id: str) -> bool:
        return await self._world.notifier.hear_others(proposal_id, self._surface)

    async def heard_in_time(self, proposal_id: str) -> None:
        """Wait until a ✅ may count."""
        while not await self.heard(proposal_id):
            await self._world.clock.sleep(_AGAIN_S)
