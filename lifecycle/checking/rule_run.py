"""Rules at work in threads: one hop a check, and a rule that is late is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

#: The rules compute: more threads at once only make each of them slower.
_MOST_WORKERS: Final = 2
#: A rule that hangs in so many threads is not started in yet another one.
_MOST_STUCK: Final = 8
#: So long may a run wait until a worker begins it, in seconds of real time: whoever sent the
#: document waits all the while, and a burst of slow ones must not keep the next for minutes.
_PATIENCE_S: Final = 10.0

Step = Callable[[], T]


class Run(Generic[T]):
    """A row of steps on its way through one worker; `results` are those that came in time."""

    def __init__(self, steps: Sequence[tuple[str, Step[T]]], ticks: Callable[[], float]) -> None:
        """Take named steps, and the clock that says how long one takes, in seconds."""
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
        """Take one step after the other, until all are done or nobody waits any more."""
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
        """Stop waiting where the current step took `limit_s` or more (None: in any case).

        A run that no worker came to for long is left as well.
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
        """Return for how long the current step has been at work, in seconds."""
        return 0.0 if self._since is None else self._ticks() - self._since

    @property
    def current(self) -> str:
        """The name of the step that it is at, or was left at."""
        return self._steps[len(self.results)][0]

    async def finished(self, limit_s: float) -> bool:
        """Wait until all steps are done: True; or until one is late or none was begun: False."""
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
    """Look whether the current step is late, and if not, when it would be."""
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
    """A few daemon threads; one that is left behind is replaced and ends by itself.

    Being daemons they never hold up the end of the process.
    """

    def __init__(self, most: int = _MOST_WORKERS) -> None:
        """Start none yet: a thread begins when there is work for it."""
        self._most = most
        self._runs: deque[Run[Any]] = deque()
        self._changed = threading.Condition()
        self._idle = 0
        self._count = 0
        self._stuck: Counter[str] = Counter()

    def take(self, run: Run[T]) -> None:
        """Hand a run to the next worker that is free. Raises RuntimeError where there is none."""
        with self._changed:
            self._runs.append(run)
            try:
                self._reinforce()
            except RuntimeError:  # no thread can be started now
                if self._count == 0:  # and there is none that would come to it
                    self._runs.remove(run)
                    raise
            self._changed.notify()

    def left_behind(self, run: Run[T]) -> None:
        """Note that nobody waits for a run any more; a worker that is busy with it is replaced."""
        with self._changed:
            if run in self._runs:  # no worker had begun it
                self._runs.remove(run)
                return
            self._count -= 1
            self._stuck[run.current] += 1
            with suppress(RuntimeError):  # the next run tries again
                self._reinforce()

    def is_stuck(self, name: str) -> bool:
        """Say whether this step hangs in so many threads that it is not tried again."""
        return self._stuck[name] >= _MOST_STUCK

    @property
    def any_stuck(self) -> bool:
        """True while anything hangs in a thread."""
        with self._changed:
            return any(self._stuck.values())

    def _reinforce(self) -> None:
        """Start a worker where more runs wait than workers do."""
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
