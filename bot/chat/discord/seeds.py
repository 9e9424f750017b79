"""The bot's own ✅ and ❌ under its cards: put there and taken off beside the posting of cards.

Discord takes few reactions a second, and a card counts without its seeds; so nothing waits here.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from bot.chat.discord.rest import Rest
from bot.chat.signals import SEEDS, Signal
from bot.chat.surface import CardGone, SurfaceFailed

log = logging.getLogger("signoff.discord")

_TRIES: Final = 4
_REMEMBERED: Final = 5_000


class Seeds:
    """What should stand under which message, and a worker that makes it so."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._wanted: dict[int, bool] = {}
        self._queue: asyncio.Queue[int] = asyncio.Queue()
        self.missing: dict[int, str] = {}

    def want(self, message_id: int, seeded: bool, *, again: bool = False) -> None:
        """Have the seeds under a message, or off it; `again` although they were put there once."""
        if self._wanted.get(message_id) is seeded and not again:
            return
        self._wanted[message_id] = seeded
        self._queue.put_nowait(message_id)
        while len(self._wanted) > _REMEMBERED:
            self._wanted.pop(next(iter(self._wanted)))

    def kept(self, message_id: int, seeded: bool) -> None:
        """An edited card: seeds that nobody wanted changed are left as they are."""
        if not seeded or message_id in self._wanted:
            self.want(message_id, seeded)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            message_id = await self._queue.get()
            wanted = self._wanted.get(message_id)
            if wanted is None:
                continue
            for signal in SEEDS:
                if self._wanted.get(message_id) is wanted:
                    await self._one(message_id, signal, wanted)

    async def _one(self, message_id: int, signal: Signal, wanted: bool) -> None:
        for attempt in range(_TRIES):
            try:
                await self._set(message_id, signal, wanted)
            except CardGone:
                return
            except SurfaceFailed as failure:
                if failure.lasting or attempt == _TRIES - 1:
                    self._failed(message_id, signal, wanted, failure)
                    return
                await asyncio.sleep(failure.retry_after_s or 2.0**attempt)
            else:
                self.missing.pop(message_id, None)
                return

    async def _set(self, message_id: int, signal: Signal, wanted: bool) -> None:
        if wanted:
            await self._rest.react(message_id, signal)
        else:
            await self._rest.unreact(message_id, signal)

    def _failed(
        self, message_id: int, signal: Signal, wanted: bool, failure: SurfaceFailed
    ) -> None:
        if not wanted:
            return  # what was never put there cannot be taken off
        log.warning("%s is missing under card %s: %s", signal.character, message_id, failure)
        self.missing[message_id] = str(failure)
        while len(self.missing) > _REMEMBERED:
            self.missing.pop(next(iter(self.missing)))
