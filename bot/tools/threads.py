"""Work that nobody can end, in a thread of its own that holds up nothing else, nor the end."""

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
    """What is done in one of those threads, and whether anybody still waits for it."""

    given_up = False

    def cancel(self) -> bool:
        """Note that nobody does, also where it goes on."""
        self.given_up = True
        return super().cancel()


class DaemonThreads(Executor):
    """The threads of one tool, at most so many: what hangs in them holds up nobody else, nor the
    end. A thread ends when there is nothing to do."""

    def __init__(self, most: int) -> None:
        """Start none; what comes while `most` are at work waits for its turn."""
        self._most, self._at_work = most, 0
        self._under_way = set[_Work]()
        self._waiting: deque[tuple[_Work, Callable[[], Any]]] = deque()
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do `fn` as soon as there is a thread. Raises NotBegun."""
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
        """Say whether no thread is left for anything new: nobody waits any more for what each of
        them does, and it goes on."""
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
    try:
        answer = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(answer)


def ended_unheard(name: str, error: BaseException | None) -> None:
    """Say in the log how that ended which nobody waited for any more: a person may have to know."""
    how = "with an answer" if error is None else f"with {type(error).__name__}"
    log.warning("%s ended %s, when nobody waited for it any more", name, how)
