"""Runs an operator's coroutine in a task of its own, so that it cannot harm the task of the call.

`PythonTool` awaits the async methods of its class through `apart`. Everything here runs on the
event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from concurrent.futures import Executor
from typing import Any, Final, NamedTuple

from bot.process.forked import end_copy
from bot.process.pool import THREADS_OF, let_go
from bot.tools.threads import ended_unheard

#: How many seconds a cancelled coroutine has to give its answer.
_GRACE_S: Final = 1.0

log = logging.getLogger(__name__)

#: The tasks that go on although nobody waits for them, each with the threads of its tool. They are
#: kept here because the loop holds only weak references to tasks.
_left: dict[asyncio.Task[_Ended], Executor] = {}


class _Ended(NamedTuple):
    """How a coroutine ended: what it returned, or what it raised.

    The error is a value here because a SystemExit that escapes from a task would end the program.
    """

    answer: Any
    error: BaseException | None


def left_of(threads: Executor) -> int:
    """Return how many tasks of the tool with these threads go on although their time is over."""
    return sum(each is threads for each in _left.values())


async def apart(work: Awaitable[Any], name: str, threads: Executor) -> Any:
    """Await `work` and return its answer, or raise what it raises.

    What `work` hands to the loop's pool (asyncio.to_thread) runs in `threads`, those of its tool.
    `name` stands for the call in the log.

    If the caller is cancelled, `work` is cancelled too, and has `_GRACE_S` seconds to end. An
    answer that it gives by then is returned, and an error raised. If it does not end, it goes on by
    itself, because nobody can end it and nobody may wait for it; CancelledError is raised then.
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
    # GeneratorExit would tell the awaiting coroutine that it is itself being closed.
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
    """Let a task go on by itself, and log how it ends if it ever does."""

    def ended(task: asyncio.Task[_Ended]) -> None:
        _left.pop(task, None)
        ended_unheard(name, asyncio.CancelledError() if task.cancelled() else task.result().error)

    log.warning("%s does not end although its time is over", name)
    _left[task] = threads
    task.add_done_callback(ended)
    let_go(task)
