"""Puts the bot's own ✅ and ❌ under its cards and takes them off, in a task of its own.

Discord takes few reactions a second, and a card counts without its seeds, so nothing waits for
them. Twin: `slack/seeds.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from bot.chat.discord.rest import Rest
from bot.chat.hearing.signals import SEEDS, Signal
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.located import located

log = logging.getLogger("signoff.discord")

_TRIES: Final = 4
_REMEMBERED: Final = 5_000


class Seeds:
    """Knows which messages should have seeds, and runs the task that makes it so."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._wanted: dict[int, bool] = {}
        #: The messages to work on, in order; each is in it once.
        self._due: dict[int, None] = {}
        self._any_due = asyncio.Event()
        self.missing: dict[int, str] = {}
        self._refused: set[int] = set()

    def want(self, message_id: int, seeded: bool, *, again: bool = False) -> None:
        """Have the seeds put under a message, or taken off; `again` even if done before."""
        if self._wanted.get(message_id) is seeded and not again:
            return
        self._wanted[message_id] = seeded
        self._due.setdefault(message_id)
        self._any_due.set()
        while len(self._wanted) > _REMEMBERED:
            forgotten = next(iter(self._wanted))
            self._wanted.pop(forgotten)
            self._due.pop(forgotten, None)

    def kept(self, message_id: int, seeded: bool) -> None:
        """Note that a card was edited: seeds that nobody wanted changed are left as they are, and
        refused ones are tried again."""
        if not seeded or message_id in self._wanted:
            self.want(message_id, seeded, again=message_id in self._refused)

    def found(self, message_id: int, own: Collection[Signal]) -> None:
        """Note which seeds a card had when read; missing ones are put there unless refused."""
        refused = message_id in self._refused
        if self._wanted.get(message_id, True) and not refused and not set(SEEDS) <= set(own):
            self.want(message_id, True, again=True)

    def may_be_put(self) -> None:
        """Note that the bot has got a permission, or a new connection: what was refused is tried
        again."""
        for message_id in sorted(self._refused):
            if self._wanted.get(message_id, False):
                self.want(message_id, True, again=True)

    def gone(self, message_id: int) -> None:
        """Forget a message that was deleted."""
        self._wanted.pop(message_id, None)
        self._due.pop(message_id, None)
        self.missing.pop(message_id, None)
        self._refused.discard(message_id)

    async def run(self) -> None:
        """Put and take seeds until cancelled. A failure with one card does not hold up the next."""
        while True:
            while self._due:
                message_id = next(iter(self._due))
                del self._due[message_id]
                try:
                    await self._all(message_id, self._wanted[message_id])
                except Exception as error:
                    log.error("seeds of card %s: %s", message_id, located(error))
            self._any_due.clear()
            await self._any_due.wait()

    async def _all(self, message_id: int, wanted: bool) -> None:
        """Put or take every seed of one card; if one cannot be put, note the card in `missing`."""
        missed: list[SurfaceFailed] = []
        for signal in SEEDS:
            if self._wanted.get(message_id) is wanted:
                failure = await self._one(message_id, signal, wanted)
                # A failure to take a seed off is no trouble: it may never have been there.
                if failure is not None and wanted:
                    missed.append(failure)
                    seed = signal.character
                    log.warning("%s is missing under card %s: %s", seed, message_id, failure)
        self._refused.discard(message_id)
        if missed:
            self._missed(message_id, missed[0])
        else:
            self.missing.pop(message_id, None)

    async def _one(self, message_id: int, signal: Signal, wanted: bool) -> SurfaceFailed | None:
        """Put or take one seed; return the failure, None if it was done or the card is gone."""
        for attempt in range(_TRIES):
            try:
                await self._set(message_id, signal, wanted)
                break
            except CardGone:
                break
            except SurfaceFailed as failure:
                if failure.lasting or attempt == _TRIES - 1:
                    return failure
                await asyncio.sleep(failure.retry_after_s or 2.0**attempt)
        return None

    async def _set(self, message_id: int, signal: Signal, wanted: bool) -> None:
        if wanted:
            await self._rest.react(message_id, signal)
        else:
            await self._rest.unreact(message_id, signal)

    def _missed(self, message_id: int, failure: SurfaceFailed) -> None:
        self.missing[message_id] = str(failure)
        if failure.lasting:
            self._refused.add(message_id)
        while len(self.missing) > _REMEMBERED:
            forgotten = next(iter(self.missing))
            self.missing.pop(forgotten)
            self._refused.discard(forgotten)
