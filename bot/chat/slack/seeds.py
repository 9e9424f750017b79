"""Puts the bot's own ✅ and ❌ under cards and takes them off, in a task of its own.

Twin: `discord/seeds.py`.
"""

from __future__ import annotations

import asyncio
import logging

from bot.chat.slack.rest import Rest
from lifecycle.located import located

log = logging.getLogger("signoff.slack")


class Seeds:
    """A queue of cards whose emoji are to be put or taken. Cards count without them."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._wanted: dict[str, bool] = {}
        self._due = asyncio.Event()
        self.missing: set[str] = set()

    def want(self, ts: str, seeded: bool) -> None:
        """Have the emoji of a card put there, or taken off."""
        self._wanted.pop(ts, None)
        self._wanted[ts] = seeded
        self._due.set()

    def kept(self, ts: str, seeded: bool) -> None:
        """Note that a card was edited: a final one loses its emoji, missing ones are retried."""
        if not seeded or ts in self.missing:
            self.want(ts, seeded)

    def gone(self, ts: str) -> None:
        """Forget a message that was deleted."""
        self._wanted.pop(ts, None)
        self.missing.discard(ts)

    async def run(self) -> None:
        """Process the queue, oldest first, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            while self._wanted:
                ts = next(iter(self._wanted))
                try:
                    await self._one(ts, self._wanted.pop(ts))
                except Exception as error:
                    log.error("seeds of card %s: %s", ts, located(error))

    async def _one(self, ts: str, seeded: bool) -> None:
        if not seeded:
            self.missing.discard(ts)
            await self._rest.unseed(ts)
        elif await self._rest.seed(ts):
            self.missing.discard(ts)
        else:
            self.missing.add(ts)
            log.warning("slack: a card lacks an emoji of the bot; those of people count")
