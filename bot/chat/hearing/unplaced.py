"""Waits until a card is written down on which somebody decides before that.

An emoji stays on its card and is found there. A button leaves no trace on it: what was pressed
waits until the card is written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from bot.chat.hearing.known import may_stand, on_its_way
from bot.chat.surface import SurfaceFailed
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.world import World

#: Cards are looked for sooner once in this time: anybody may put an emoji on whatever the bot said.
_SOONER_MS: Final = 5_000
_FAR_MS: Final = 10**15
_MOST_CARDS: Final = 1_000
#: After each of these pauses (seconds) it is looked whether the card is written down.
_PAUSES_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0)
#: An approval waits this long, which is less than Discord lets its answer wait.
_LONGEST_MS: Final = 480_000
#: A wait that began longer ago than this is over; then another one begins.
_ANEW_MS: Final = 3_600_000
_MOST_WAITS: Final = 1_000


class Unplaced:
    """Waits for the cards of one surface that are being posted, or may stand."""

    def __init__(
        self, world: World, surface: str, card: Callable[[str], Awaitable[Card | None]]
    ) -> None:
        """`card` finds the card that stands, or stood, in a message."""
        self._world = world
        self._surface = surface
        self._card = card
        self._looked_ms = 0
        self._since_ms: dict[str, int] = {}

    async def card(self, message_id: str, *, stops: bool = False) -> Card | None:
        """Return the card that stands in this message, None if there is none.

        Raises SurfaceFailed if the message may be a card that is on its way: the caller comes back.
        What `stops` something waits as long as that is so, all else eight minutes: a card may be in
        doubt for hours, and whoever pressed a button of a former card is to be told.
        """
        may_come = partial(self._may_come, message_id, stops=stops)
        card = await self._waited_for(message_id, _PAUSES_S, may_come)
        if card is None and await may_come():
            raise SurfaceFailed("the card is not written down yet")
        return card or await self._card(message_id)

    async def soon(self, message_id: str, pauses_s: Sequence[float]) -> Card | None:
        """Return the card, waiting these pauses, in seconds, while one is on its way; None if it is
        not written down by then: what stands on it is found there later."""
        return await self._waited_for(message_id, pauses_s, self.on_its_way)

    async def _waited_for(
        self, message_id: str, pauses_s: Sequence[float], may_come: Callable[[], Awaitable[bool]]
    ) -> Card | None:
        card = await self._card(message_id)
        for pause_s in pauses_s:
            if card is not None:
                return card
            if not await may_come():
                return await self._card(message_id)  # it may have been written down meanwhile
            await self.look_sooner()
            await asyncio.sleep(pause_s)
            card = await self._card(message_id)
        return card

    async def _may_come(self, message_id: str, *, stops: bool) -> bool:
        return await self.on_its_way() and (stops or not self._waited(message_id))

    def _waited(self, message_id: str) -> bool:
        """Return whether somebody has waited long enough for a card there; note since when."""
        now_ms = self._world.clock.now_ms()
        waits = [each for each in self._since_ms.items() if now_ms - each[1] <= _ANEW_MS]
        self._since_ms = dict(waits[-_MOST_WAITS:])
        return now_ms - self._since_ms.setdefault(message_id, now_ms) >= _LONGEST_MS

    async def look_sooner(self) -> None:
        """Have cards looked for at once that may stand although no row says where: somebody decides
        on what may be one. After an outage the next look would be up to a minute away.

        A card that the platform refused does not stand; if it asked to be left alone, it is.
        """
        now_ms = self._world.clock.now_ms()
        if now_ms - self._looked_ms < _SOONER_MS:
            return
        self._looked_ms = now_ms

        def unit(tx: Transaction) -> None:
            for card in self._unshown(tx):
                if may_stand(card, now_ms) and card.retry_at_ms > now_ms:
                    tx.cards.put(replace(card, retry_at_ms=now_ms))

        with suppress(StoreUnavailable):
            await self._world.store.write(unit)
            self._world.notifier.nudge()

    async def on_its_way(self) -> bool:
        """Return whether a card of the surface is being posted, or may stand where no row says."""
        now_ms = self._world.clock.now_ms()
        return await self._world.store.read(
            lambda tx: any(on_its_way(card, now_ms) for card in self._unshown(tx))
        )

    def _unshown(self, tx: Transaction) -> list[Card]:
        return list(tx.cards.stale(self._surface, _FAR_MS, _MOST_CARDS))
