"""Before a ✅ counts on one surface: what stands under ❌ on the others (design section 6).

Two surfaces are two ears. After a restart, or a gap, one hears again before the other, and the ❌
that was given first may stand where nobody has looked yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from bot.chat.hearing.card_readings import went_well
from bot.chat.hearing.hearing import Trouble
from lifecycle.located import located
from lifecycle.records import Card
from lifecycle.workflow import Workflow
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: One look waits so long for a platform; what is late is left to itself.
_ANSWERED_S: Final = 2.0
#: A ✅ waits so long for the other surfaces, then it counts.
WAITED_MS: Final = 10_000
_AGAIN_S: Final = 0.5
#: After so long it is another wait.
_ANEW_MS: Final = 60_000
_MOST: Final = 1_000


@runtime_checkable
class HearsStops(Protocol):
    """A surface on which a ❌ may stand that nobody heard."""

    name: str

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear what stands under ❌ of the proposal's card, where something may have been missed
        that was not read since; False where it cannot be read now."""

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces were told, None where all is well."""


class Ears:
    """All surfaces, for whoever asks what the others have heard."""

    def __init__(self, surfaces: Mapping[str, object]) -> None:
        self._surfaces = surfaces
        self.asking: dict[tuple[str, str], asyncio.Task[bool]] = {}

    async def hear_others(
        self, world: World, proposal_id: str, but: str
    ) -> tuple[bool, Sequence[Card]]:
        """Look at the proposal's other cards on surfaces that are in a gap; return whether a ✅ may
        count, and which of them nobody could look at.

        Of a surface in trouble people were told to decide elsewhere: it is looked at, and not
        waited for.
        """
        cards = await world.store.read(lambda tx: tx.cards.of(proposal_id))
        found = [(self._surfaces.get(card.surface), card) for card in cards if card.message_ids]
        ears = [(ear, card) for ear, card in found if isinstance(ear, HearsStops)]
        others = [(ear, card) for ear, card in ears if ear.name != but]
        heard = await asyncio.gather(*(self._heard(ear, proposal_id) for ear, _ in others))
        unheard = [each for each, was_heard in zip(others, heard, strict=True) if not was_heard]
        waited_for = [ear for ear, _ in unheard if ear.trouble() is None]
        return not waited_for, [card for _, card in unheard]

    async def _heard(self, surface: HearsStops, proposal_id: str) -> bool:
        """Look at one card, in time."""
        key = (surface.name, proposal_id)
        task = self.asking.get(key)
        if task is None:
            task = self.asking[key] = asyncio.create_task(surface.stops_heard(proposal_id))
            task.add_done_callback(lambda _: self.asking.pop(key, None))
        await asyncio.wait({task}, timeout=_ANSWERED_S)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a card could not be read: %s", located(error))
        return went_well(task) and task.result()


class Elsewhere:
    """What one surface asks of the others; it waits for them, and not for ever."""

    def __init__(self, workflow: Workflow, surface: str) -> None:
        self._world = workflow.world
        self._surface = surface
        self._since_ms: dict[str, int] = {}

    async def heard(self, proposal_id: str) -> bool:
        """Say whether a ✅ may count; False where the others are to be asked again in a moment."""
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
