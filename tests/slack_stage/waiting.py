"""Waiting for what happens beside a test: no test sleeps for a guessed time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.fakes.clock import FakeClock

DEADLINE_S = 40.0

T = TypeVar("T")


class QuickClock(FakeClock):
    """Time stands still until a test moves it; whoever sleeps only gives way for a moment."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


async def eventually(look: Callable[[], T], what: str = "it", deadline_s: float = DEADLINE_S) -> T:
    """Wait until `look` returns something true, and return that."""
    end = asyncio.get_running_loop().time() + deadline_s
    while not (found := look()):
        assert asyncio.get_running_loop().time() < end, f"{what} did not happen in time"
        await asyncio.sleep(0.01)
    return found


async def eventually_async(look: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until a look that takes its time says yes."""
    end = asyncio.get_running_loop().time() + DEADLINE_S
    while not await look():
        assert asyncio.get_running_loop().time() < end, f"{what} did not happen in time"
        await asyncio.sleep(0.01)
