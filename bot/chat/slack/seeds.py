"""Puts the bot's own ✅ and ❌ under cards and takes them off, in a task of its own for each.

Slack lets fewer emoji be taken off in a minute than be put there. In a flood, cards that can be
decided would get none while those that ended lose theirs. Twin: `discord/seeds.py`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from bot.chat.slack.rest import Rest
from lifecycle.located import located
from lifecycle.ports import Clock

log = logging.getLogger("signoff.slack")

_FIRST_PAUSE_S: Final = 1
_LONGEST_PAUSE_S: Final = 60


class Seeds:
    """A queue of cards whose emoji are to be put or taken. Cards count without them.

    What is missing is put there when its card is edited or read. A card that counts no more is
    neither, so taking its emoji off is tried again until it is done.
    """

    def __init__(self, rest: Rest, clock: Clock) -> None:
        self._rest = rest
        self._clock = clock
        self._wanted: dict[str, bool] = {}
        #: The cards that a task is working on: the other task leaves them alone.
        self._in_hand: set[str] = set()
        #: Set if there may be something to put there (True), or to take off (False).
        self._due = {seeded: asyncio.Event() for seeded in (True, False)}
        self._left: set[str] = set()
        self._any_left = asyncio.Event()
        self._pause_s = _FIRST_PAUSE_S
        self.missing: set[str] = set()

    def want(self, ts: str, seeded: bool) -> None:
        """Have the emoji of a card put there, or taken off."""
        self._wanted.pop(ts, None)
        self._left.discard(ts)
        self._wanted[ts] = seeded
        self._due[seeded].set()

    def kept(self, ts: str, seeded: bool) -> None:
        """Note that a card was edited: a final one loses its emoji, missing ones are retried."""
        if not seeded or ts in self.missing:
            self.want(ts, seeded)

    def found(self, ts: str, *, lacking: bool) -> None:
        """Note whether an open card lacked an emoji when it was read: then they are put there."""
        if lacking:
            self.want(ts, seeded=True)
        else:
            self.missing.discard(ts)

    def gone(self, ts: str) -> None:
        """Forget a message that was deleted."""
        self._wanted.pop(ts, None)
        self._left.discard(ts)
        self.missing.discard(ts)

    async def run(self, *, seeded: bool) -> None:
        """Put all emoji there that are wanted, or take all off that are not, oldest first, until
        cancelled."""
        due = self._due[seeded]
        while True:
            await due.wait()
            due.clear()
            while (ts := self._next(seeded)) is not None:
                del self._wanted[ts]
                self._in_hand.add(ts)
                try:
                    await self._one(ts, seeded)
                except asyncio.CancelledError:
                    self._wanted.setdefault(ts, seeded)  # `finish` may do it
                    raise
                except Exception as error:
                    log.error("seeds of card %s: %s", ts, located(error))
                finally:
                    self._in_hand.discard(ts)
                self._due[not seeded].set()  # it may have been left alone for this

    def _next(self, seeded: bool) -> str | None:
        mine = (ts for ts, wanted in self._wanted.items() if wanted is seeded)
        return next((ts for ts in mine if ts not in self._in_hand), None)

    async def again(self) -> None:
        """Queue once more, until cancelled, what could not be taken off for the moment."""
        while True:
            await self._any_left.wait()
            await self._clock.sleep(self._pause_s)
            self._pause_s = min(_LONGEST_PAUSE_S, 2 * self._pause_s)
            self._any_left.clear()
            for ts in sorted(self._left):
                self.want(ts, seeded=False)

    async def finish(self) -> None:
        """Take off what is due to go as the bot ends, up to the first that Slack leaves there.

        A later process does not look at ended cards. What an open one lacks it puts there itself.
        """
        going = [ts for ts, seeded in self._wanted.items() if not seeded]
        for ts in (*going, *sorted(self._left)):
            if not await self._rest.unseed(ts):
                return
            self.gone(ts)

    async def _one(self, ts: str, seeded: bool) -> None:
        if not seeded:
            self.missing.discard(ts)
            if await self._rest.unseed(ts):
                self._pause_s = _FIRST_PAUSE_S
            elif ts not in self._wanted:
                self._left.add(ts)
                self._any_left.set()
        elif await self._rest.seed(ts):
            self.missing.discard(ts)
        else:
            if ts not in self.missing:
                log.warning("slack: a card lacks an emoji of the bot; those of people count")
            self.missing.add(ts)
