"""The threads of the loop's own pool: all started before there is work, or missed by no answer."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

#: What Python says where no thread can be started.
NO_THREAD: Final = "can't start new thread"

#: As many as a pool has that nobody gave a number.
_MOST: Final = min(32, (os.cpu_count() or 1) + 4)

_Answer = TypeVar("_Answer")


def run(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run `work` in a loop of its own, as asyncio.run does; return its answer, raise its error.

    At its very end asyncio starts a thread that waits for the pool's. Where that one cannot be
    started all is done nevertheless, and must not be told as failed.
    """
    ended: Future[_Answer] = Future()

    async def kept() -> None:
        try:
            ended.set_result(await work)
        except BaseException as error:
            ended.set_exception(error)
            raise

    try:
        asyncio.run(kept())
    except RuntimeError as error:
        if str(error) != NO_THREAD or not ended.done():
            raise
        if isinstance(ended.exception(), asyncio.CancelledError):  # nothing but Ctrl-C cancels it
            raise KeyboardInterrupt from error
    return ended.result()


def started_pool() -> ThreadPoolExecutor:
    """Return a pool that never has to start a thread. Raises RuntimeError where that cannot be.

    One that has to and cannot says that the work was not taken, and does it later all the same: a
    mail could leave behind the back of whoever was told so.
    """
    pool = ThreadPoolExecutor(_MOST, "signoff-own")
    gate = threading.Event()
    try:
        for _ in range(_MOST):
            pool.submit(gate.wait)
    finally:
        gate.set()
    return pool
