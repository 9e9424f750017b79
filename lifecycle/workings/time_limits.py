"""This time limit gives a moment to take what came while this process could not look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

#: If a limit is noticed this much later than it passed, the process could not look meanwhile.
_LATE_S: Final = 0.2
#: How much longer is then waited for what has arrived and only has to be taken.
_TAKING_S: Final = 2.0


@asynccontextmanager
async def within(limit_s: float) -> AsyncIterator[asyncio.Timeout]:
    """Raise TimeoutError in the body after `limit_s` seconds, as asyncio.timeout does.

    A process that was stopped (SIGSTOP, a machine that was paused) finds all its limits passed when
    it goes on, before it reads what arrived meanwhile: an answer given in time would be taken for
    none. If the end of the limit is noticed late, the body therefore has two more seconds.
    """
    loop = asyncio.get_running_loop()
    passes_s = loop.time() + limit_s
    async with asyncio.timeout(None) as limit:

        def passed() -> None:
            now_s = loop.time()
            limit.reschedule(now_s + _TAKING_S if now_s - passes_s > _LATE_S else now_s)

        timer = loop.call_at(passes_s, passed)
        try:
            yield limit
        finally:
            timer.cancel()
