"""An operator's coroutine in a task of its own: what it does to its task it does to no call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

from bot.tools.threads import ended_unheard

#: So long may what is told to end take to say how it ended.
_GRACE_S: Final = 1.0

log = logging.getLogger(__name__)

#: The loop itself keeps no task alive.
_left: set[asyncio.Task[_Ended]] = set()


class _Ended(NamedTuple):
    """What was answered, or what was raised: of its own an error of some kinds ends the program."""

    answer: Any
    error: BaseException | None


async def apart(work: Awaitable[Any], name: str) -> Any:
    """Await `work` and return its answer, or raise what it raises.

    Where we are cancelled it is cancelled too, and its answer is taken where it gives one at once.
    What does not end then goes on by itself: nobody can end it, and nobody may wait for it.
    """
    task = asyncio.create_task(_heard(work), name=name)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=_GRACE_S)
        finally:
            if not task.done():
                _leave(task, name)
        if not task.done():
            raise
    if task.cancelled():
        raise asyncio.CancelledError
    answer, error = task.result()
    if error is None:
        return answer
    # To whoever awaits it this one would say that it is being closed.
    raise RuntimeError("GeneratorExit") if isinstance(error, GeneratorExit) else error


async def _heard(work: Awaitable[Any]) -> _Ended:
    try:
        return _Ended(await work, None)
    except BaseException as error:
        return _Ended(None, error)


def _leave(task: asyncio.Task[_Ended], name: str) -> None:
    """Let go of a task: at its end asyncio.run would wait for it for ever."""

    def ended(task: asyncio.Task[_Ended]) -> None:
        _left.discard(task)
        ended_unheard(name, asyncio.CancelledError() if task.cancelled() else task.result().error)

    asyncio.tasks._unregister_task(task)
    log.warning("%s does not end although its time is over", name)
    _left.add(task)
    task.add_done_callback(ended)
