"""Cancels where libraries interfere: some raise CancelledError themselves, some let one be lost."""

from __future__ import annotations

import asyncio
from typing import Any, Final

#: A task that goes on although it was cancelled is cancelled again after so many seconds.
_AGAIN_S: Final = 0.5


def being_cancelled() -> bool:
    """Return True if somebody has cancelled the current task; call it on the loop.

    A library may raise CancelledError inside the task for reasons of its own (a session closed in
    the middle of a name lookup). If that were taken for our own end, a worker would end silently.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks of a library, and return once they have ended, however they did.

    One cancellation may be lost: before Python 3.12 asyncio.wait_for returns as if nothing were, if
    what it waits for ends in the very moment. Whoever waited for such a task would wait for ever.
    """
    while going_on := {task for task in tasks if not task.done()}:
        for task in going_on:
            task.cancel()
        await asyncio.wait(going_on, timeout=_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)  # retrieved, so that nothing is logged
