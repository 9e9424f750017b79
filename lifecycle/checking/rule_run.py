"""Run rules in threads: one hop to a thread for a whole check; a rule that is late is left behind.

`Run` is shared by the event loop, which waits, and one worker thread. `Workers` are the threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

#: Rules only compute, so that more threads at once would make each of them slower.
_MOST_WORKERS: Final = 2
#: A rule that hangs in this many threads is not started in another one.
_MOST_STUCK: Final = 8
#: How long a run may wait for a worker, in seconds of real time. The sender of the document waits
#: all the while, and a burst of slow documents must not hold up the next one for minutes.
_PATIENCE_S: Final = 10.0

Step = Callable[[], T]


class Run(Generic[T]):
    """A sequence of steps for one worker; `results` has the results that came in time."""

    def __init__(self, steps: Sequence[tuple[str, Step[T]]], ticks: Callable[[], float]) -> None:
        """Take named steps, and the clock that measures how long each takes, in seconds."""
        self._steps = steps
        self._ticks = ticks
        self._lock = threading.Lock()
        self._came_s = ticks()
        self._since: float | None = None
        self._wake: Callable[[], None] = lambda: None
        self.results: list[T] = []
        self.is_begun = False
        self.is_done = False
        self.is_left = False

    def work(self) -> None:
        """Do one step after the other, until all are done or nobody waits any more. In a worker
        thread."""
        for _, step in self._steps:
            with self._lock:
                if self.is_left:
                    return
                self.is_begun = True
                self._since = self._ticks()
            result = step()
            with self._lock:
                if self.is_left:
                    return
                self.results.append(result)
                self._since = None
                self.is_done = len(self.results) == len(self._steps)
        self._wake()

    def leave(self, limit_s: float | None = None) -> bool:
        """Stop waiting if the current step has taken `limit_s` or more (None: in any case).

        A run that no worker has begun for long is left as well. Return True if nobody waits any
        more; False if all steps are done, or may go on.
        """
        with self._lock:
            if self.is_done:
                return False
            if limit_s is None or self.time_s() >= limit_s or self._waited_in_vain():
                self.is_left = True
            return self.is_left

    def _waited_in_vain(self) -> bool:
        return not self.is_begun and self._ticks() - self._came_s >= _PATIENCE_S

    def time_s(self) -> float:
        """Return how long the current step has been running, in seconds."""
        return 0.0 if self._since is None else self._ticks() - self._since

    @property
    def current(self) -> str:
        """The name of the step that is running, or at which the run was left."""
        return self._steps[len(self.results)][0]

    async def finished(self, limit_s: float) -> bool:
        """Wait on the loop; return True when all steps are done, False when the run was left."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()
        self._wake = lambda: _tell(loop, done)
        alarm = loop.call_later(limit_s, _look, self, loop, done, limit_s)
        try:
            return self.is_done or await done
        finally:
            alarm.cancel()


def _look(
    run: Run[Any], loop: asyncio.AbstractEventLoop, done: asyncio.Future[bool], limit_s: float
) -> None:
    """Leave the run if its current step is late; otherwise look again when it would be."""
    if done.done():
        return
    if run.leave(limit_s):
        done.set_result(False)
    else:
        loop.call_later(max(limit_s - run.time_s(), 0.001), _look, run, loop, done, limit_s)


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Future[bool]) -> None:
    def wake() -> None:
        if not done.done():
            done.set_result(True)

    try:
        loop.call_soon_threadsafe(wake)
    except RuntimeError:
        return  # the loop has closed: nobody waits


class Workers:
    """A few daemon threads; a thread that is left behind is replaced, and ends by itself.

    As daemons they never hold up the end of the process.
    """

    def __init__(self, most: int = _MOST_WORKERS) -> None:
        """Start no thread yet; one starts when there is work for it."""
        self._most = most
        self._runs: deque[Run[Any]] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._count = 0
        self._stuck: Counter[str] = Counter()

    def take(self, run: Run[T]) -> None:
        """Queue a run for the next free worker. Raises RuntimeError if no thread can be started."""
        with self._changed:
            self._runs.append(run)
            try:
                self._reinforce()
            except RuntimeError:  # no thread can be started now
                if self._count == 0:  # and no other thread would ever take it
                    self._runs.remove(run)
                    raise
            self._changed.notify()

    def left_behind(self, run: Run[T]) -> None:
        """Note that nobody waits for a run any more; replace a worker that is busy with it."""
        with self._changed:
            if run in self._runs:  # no worker had begun it
                self._runs.remove(run)
                return
            self._count -= 1
            self._stuck[run.current] += 1
            with suppress(RuntimeError):  # the next run tries again
                self._reinforce()

    def is_stuck(self, name: str) -> bool:
        """Return True if this step hangs in so many threads that it is not tried again."""
        return self._stuck[name] >= _MOST_STUCK

    @property
    def any_stuck(self) -> bool:
        """True while anything hangs in a thread."""
        with self._changed:
            return any(self._stuck.values())

    def _reinforce(self) -> None:
        """Start a worker if more runs wait than workers do."""
        if self._idle < len(self._runs) and self._count < self._most:
            threading.Thread(target=self._work, name="sentinel", daemon=True).start()
            self._count += 1

    def _work(self) -> None:
        while True:
            run = self._next()
            run.work()
            with self._changed:
                if run.is_left:
                    self._stuck[run.current] -= 1
                    return

    def _next(self) -> Run[Any]:
        with self._changed:
            self._idle += 1
            while not self._runs:
                self._changed.wait()
            self._idle -= 1
            return self._runs.popleft()
