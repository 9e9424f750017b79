"""The bot's clock tells UTC: it is read from the wall clock at the start and advanced by the boot
clock (design section 7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


def boot_ns() -> int:
    """Return nanoseconds on the boot clock, which counts sleep of the machine and never goes back.

    Linux calls it BOOTTIME; on macOS MONOTONIC counts sleep as well.
    """
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SystemClock:
    """Implements the port Clock: the wall clock's time at the start plus what has passed since.

    Setting the wall clock afterwards changes nothing: a window neither closes early nor stays open.
    After the machine slept, its windows are due at once. A restart of the bot reads the wall clock
    again.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, passed_ns: Callable[[], int] = boot_ns
    ) -> None:
        """Read the wall clock once. Both functions return nanoseconds."""
        self._wall_ns, self._passed_ns = wall_ns, passed_ns
        self._ahead_ns = wall_ns() - passed_ns()

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return (self._ahead_ns + self._passed_ns()) // 1_000_000

    def ahead_ms(self) -> int:
        """Return how far the wall clock was ahead of the boot clock at the start, in ms.

        In two processes of one boot this differs by exactly as much as the wall clock was set in
        between.
        """
        return self._ahead_ns // 1_000_000

    def strayed_ms(self) -> int:
        """Return how far the wall clock is ahead of this clock now, in ms; negative if behind.

        If it is not 0, somebody set the wall clock, or the whole machine was suspended without the
        boot clock noticing, as a virtual machine may be.
        """
        return self._wall_ns() // 1_000_000 - self.now_ms()

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds; time that the machine sleeps meanwhile may come on top."""
        await asyncio.sleep(seconds)
