"""What is cancelled ends, also where a library lets a cancellation be lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from bot.process.cancelling import ended


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    begun, lost = asyncio.Event(), asyncio.Event()

    async def loses_one() -> None:
        with suppress(asyncio.CancelledError):
            begun.set()
            await asyncio.Event().wait()
        lost.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(loses_one())
    await begun.wait()
    async with asyncio.timeout(20):
        await ended(task)
    assert lost.is_set()
    assert task.cancelled()


async def test_what_a_task_raises_as_it_is_cancelled_concerns_nobody() -> None:
    async def breaks() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("broken pipe")

    task = asyncio.create_task(breaks())
    await asyncio.sleep(0)
    await ended(task)
    assert isinstance(task.exception(), OSError)
