"""Mends how discord.py counts the calls that Discord still allows, its buckets.

Told to wait for no long limit, it makes no call at all in a bucket whose limit is long, although
some are left: Discord says with each answer how many, and when there will be more.
"""

from __future__ import annotations

import discord
from discord.http import Ratelimit


class Bucket(Ratelimit):
    """A bucket that holds calls back only once none is left."""

    async def acquire(self) -> None:
        """Take a call; wait for one if none is left, or raise discord.RateLimited."""
        if self.remaining > 0 and not self.is_expired():
            self._last_request = self._loop.time()
            self.remaining -= 1
            self.outgoing += 1
        else:
            await super().acquire()

    def _wake(self, count: int = 1, *, exception: discord.RateLimited | None = None) -> None:
        """Let calls that wait look again. The library gives them an exception that nobody takes:
        asyncio would call it an error in the log."""
        del exception
        super()._wake(count)


def mend_buckets() -> None:
    """Make discord.py use these buckets, in the whole process."""
    discord.http.Ratelimit = Bucket  # type: ignore[misc]
