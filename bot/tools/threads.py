"""Work that nobody can end, in a thread of its own that holds up nothing else, nor the end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

log = logging.getLogger(__name__)


class NotBegun(RuntimeError):
    """No thread could be started, so nothing of the work was done."""


async def beside(work: Callable[[], Any], name: str) -> Any:
    """Run `work` in a daemon thread and return its answer, or raise what it raises, or NotBegun.

    The loop's own pool is for our own work: an operator's code that never returns would use its
    few threads up, and the program waits for them when it ends.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if answer.done():
            ended_unheard(name, error)
            return
        if error is None:
            answer.set_result(result)
        else:
            # These mean something else to whoever awaits them than that the work failed.
            stops = isinstance(error, (StopIteration, GeneratorExit))
            answer.set_exception(RuntimeError(type(error).__name__) if stops else error)

    def run() -> None:
        result: Any = None
        raised: BaseException | None = None
        try:
            result = work()
        except BaseException as error:
            raised = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, raised)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        raise NotBegun from error
    return await answer


def ended_unheard(name: str, error: BaseException | None) -> None:
    """Say in the log how that ended which nobody waited for any more: a person may have to know."""
    how = "with an answer" if error is None else f"with {type(error).__name__}"
    log.warning("%s ended %s, when nobody waited for it any more", name, how)
