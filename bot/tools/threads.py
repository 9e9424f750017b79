"""Runs work that nobody can end on threads that hold up neither other work nor the end of the
process.

`beside` gives one piece of work a thread of its own: a plain method of a Python tool, or a reload.
`DaemonThreads` are the threads for what a Python tool hands to the loop's pool.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any

from bot.process.forked import end_copy

log = logging.getLogger(__name__)


class NotBegun(RuntimeError):
    """No thread could be started, and nothing of the work was done."""


async def beside(work: Callable[[], Any], name: str) -> Any:
    """Run `work` on a daemon thread of its own, named `name`; return its answer, or raise what it
    raises, or NotBegun.

    The caller and `settle` run on the event loop, `run` on the new thread. If the caller is
    cancelled, the work goes on, and its end is logged. The loop's own pool is not used: an
    operator's code that never returns would use up its few threads, and the process waits for them
    when it ends.
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
            # To whoever awaits `answer` these would mean something else than that the work failed.
            stops = isinstance(error, (StopIteration, GeneratorExit, NotBegun))
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


class _Work(Future[Any]):
    """The future of one piece of work in `DaemonThreads`; it notes whether anybody still waits."""

    given_up = False

    def cancel(self) -> bool:
        """Note that nobody waits any more, also if the work has begun and goes on."""
        self.given_up = True
        return super().cancel()


class DaemonThreads(Executor):
    """The threads of one tool, `most` at most. Work that hangs in them holds up neither other tools
    nor the end of the process. A thread ends when there is nothing to do.

    `submit` runs on the thread that hands work over, mostly the loop's, `hang` on the loop, and
    `_work` and `_do` on the threads of the tool.
    """

    def __init__(self, most: int) -> None:
        """Start no thread yet; work that comes while `most` threads are busy waits for its turn."""
        self._most, self._at_work = most, 0
        self._under_way = set[_Work]()
        self._waiting: deque[tuple[_Work, Callable[[], Any]]] = deque()
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn` as soon as a thread is free. Raises NotBegun if none runs and none can start."""
        future = _Work()
        with self._lock:
            if self._at_work < self._most:
                try:
                    threading.Thread(target=self._work, name="signoff-tool", daemon=True).start()
                except RuntimeError as error:
                    if not self._at_work:
                        raise NotBegun(str(error)) from error
                else:
                    self._at_work += 1
            self._waiting.append((future, partial(fn, *args, **kwargs)))
        return future

    def hang(self) -> bool:
        """Return True if no thread is left for new work, because all are busy with work that nobody
        waits for any more."""
        with self._lock:
            return sum(work.given_up for work in self._under_way) >= self._most

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._at_work -= 1
                    return
                future, work = self._waiting.popleft()
                self._under_way.add(future)
            if future.set_running_or_notify_cancel():
                _do(work, future)
            with self._lock:
                self._under_way.discard(future)


def _do(work: Callable[[], Any], future: Future[Any]) -> None:
    """Do the work and set its result in `future`.

    If the work forked the process, the copy ends here: it would also do the work that waits for a
    thread.
    """
    try:
        answer = work()
    except BaseException as error:
        end_copy(error)
        future.set_exception(error)
    else:
        end_copy()
        future.set_result(answer)


def ended_unheard(name: str, error: BaseException | None) -> None:
    """Log how work ended for which nobody waited any more, because a person may have to know.

    `error` is what it raised, None if it returned an answer.
    """
    how = "with an answer" if error is None else f"with {type(error).__name__}"
    log.warning("%s ended %s, when nobody waited for it any more", name, how)
