"""An operator's coroutine in a task of its own: what it does to its task it does to no call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from concurrent.futures import Executor
from typing import Any, Final, NamedTuple

from bot.forked import end_copy
from bot.pool import THREADS_OF, let_go
from bot.tools.threads import ended_unheard

#: So long may what is told to end take to say how it ended.
_GRACE_S: Final = 1.0

log = logging.getLogger(__name__)

#: What goes on by itself, and whose threads it has; the loop itself keeps no task alive.
_left: dict[asyncio.Task[_Ended], Executor] = {}


class _Ended(NamedTuple):
    """What was answered, or what was raised: of its own an error of some kinds ends the program."""

    answer: Any
    error: BaseException | None


def left_of(threads: Executor) -> int:
    """Return how many of those with these threads go on although their time is over."""
    return sum(each is threads for each in _left.values())


async def apart(work: Awaitable[Any], name: str, threads: Executor) -> Any:
    """Await `work` and return its answer, or raise what it raises; `threads` are those in which it
    does what it hands to the loop's pool.

    Where we are cancelled it is cancelled too, and its answer is taken where it gives one at once.
    What does not end then goes on by itself: nobody can end it, and nobody may wait for it.
    """
    task = asyncio.create_task(_heard(work, threads), name=name)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=_GRACE_S)
        finally:
            if not task.done():
                _leave(task, name, threads)
        if not task.done():
            raise
    if task.cancelled():
        raise asyncio.CancelledError
    answer, error = task.result()
    if error is None:
        return answer
    # To whoever awaits it this one would say that it is being closed.
    raise RuntimeError("GeneratorExit") if isinstance(error, GeneratorExit) else error


async def _heard(work: Awaitable[Any], threads: Executor) -> _Ended:
    THREADS_OF.set(threads)
    try:
        answer = await work
    except BaseException as error:
        end_copy(error)
        return _Ended(None, error)
    end_copy()
    return _Ended(answer, None)


def _leave(task: asyncio.Task[_Ended], name: str, threads: Executor) -> None:
    """Let go of a task, and say how it ends where it does."""

    def ended(task: asyncio.Task[_Ended]) -> None:
        _left.pop(task, None)
        ended_unheard(name, asyncio.CancelledError() if task.cancelled() else task.result().error)

    log.warning("%s does not end although its time is over", name)
    _left[task] = threads
    task.add_done_callback(ended)
    let_go(task)
