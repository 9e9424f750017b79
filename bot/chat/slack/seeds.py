"""The bot's own ✅ and ❌ under cards: put there and taken away behind everything else."""

from __future__ import annotations

import asyncio
import logging

from bot.chat.slack.rest import Rest
from lifecycle.located import located

log = logging.getLogger("signoff.slack")


class Seeds:
    """A queue of cards whose emoji are to be put or taken. They are comfort: people's count."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._wanted: dict[str, bool] = {}
        self._due = asyncio.Event()
        self.missing: set[str] = set()

    def want(self, ts: str, seeded: bool) -> None:
        """Have the emoji of a card put there, or taken away."""
        self._wanted.pop(ts, None)
        self._wanted[ts] = seeded
        self._due.set()

    def kept(self, ts: str, seeded: bool) -> None:
        """A card was edited: at its end its emoji go; one that lacks some is tried again."""
        if not seeded or ts in self.missing:
            self.want(ts, seeded)

    def gone(self, ts: str) -> None:
        """A message was deleted: it lacks nothing any more."""
        self._wanted.pop(ts, None)
        self.missing.discard(ts)

    async def run(self) -> None:
        """Work through the queue, oldest first, until cancelled."""
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
