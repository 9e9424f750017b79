"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio

#: 2026-03-02T12:00:00Z, a Monday.
NOON_MS = 1_772_452_800_000


class FakeClock:
    """Starts at the legend's noon; `advance` moves it and wakes whoever slept long enough."""

    def __init__(self, now_ms: int = NOON_MS) -> None:
        self._now_ms = now_ms
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        return self._now_ms

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved on by `seconds`; none at all only gives way."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now_ms + round(seconds * 1000), woken))
        await woken

    def advance(self, seconds: float) -> None:
        """Move on, and wake everyone whose time has come, the earliest first."""
        self.set(self._now_ms + round(seconds * 1000))

    def set(self, now_ms: int) -> None:
        """Move to a moment that is not in the past."""
        assert now_ms >= self._now_ms, "the clock never moves backwards"
        self._now_ms = now_ms
        due = sorted((item for item in self._sleepers if item[0] <= now_ms), key=lambda x: x[0])
        self._sleepers = [item for item in self._sleepers if item[0] > now_ms]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)

    @property
    def sleeping(self) -> int:
        """How many wait."""
        return sum(not woken.done() for _, woken in self._sleepers)

    async def run_for(self, seconds: float) -> None:
        """Move on sleeper by sleeper, as time does, letting each work before the next wakes."""
        end_ms = self._now_ms + round(seconds * 1000)
        await _let_others_work()
        while due := [at_ms for at_ms, woken in self._sleepers if at_ms <= end_ms]:
            self.set(min(due))
            await _let_others_work()
        self.set(end_ms)
        await _let_others_work()


async def _let_others_work() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
