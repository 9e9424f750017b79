"""Time in UTC, anchored to the wall at start and advanced by the boot clock (design section 7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


def boot_ns() -> int:
    """Return nanoseconds since some moment; goes on while the machine sleeps, never back.

    Linux calls that clock BOOTTIME; what macOS calls MONOTONIC counts sleep as well.
    """
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SystemClock:
    """The wall's time at start plus what has passed since.

    Setting the wall clock afterwards moves nothing: a window neither closes early nor stays open.
    A machine that slept finds its windows due at once. Restarting the bot reads the wall anew.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, passed_ns: Callable[[], int] = boot_ns
    ) -> None:
        """Read the wall once."""
        self._wall_ns, self._passed_ns = wall_ns, passed_ns
        self._ahead_ns = wall_ns() - passed_ns()

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return (self._ahead_ns + self._passed_ns()) // 1_000_000

    def ahead_ms(self) -> int:
        """Return how far the wall was ahead of the boot clock when it was read, in ms.

        For two processes of one boot that differs by exactly what the wall was set in between.
        """
        return self._ahead_ns // 1_000_000

    def strayed_ms(self) -> int:
        """Return how far the wall is ahead of this clock by now, in ms; below 0 it is behind.

        Somebody set it, or the whole machine stood still without noticing, as a virtual one may.
        """
        return self._wall_ns() // 1_000_000 - self.now_ms()

    async def sleep(self, seconds: float) -> None:
        """Wait; the time that the machine sleeps meanwhile may come on top."""
        await asyncio.sleep(seconds)
