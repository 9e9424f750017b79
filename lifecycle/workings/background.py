"""Runs work that goes on although its starter is cancelled: people's acts, and calls of tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from functools import partial
from typing import Any, TypeVar

from lifecycle.located import located
from lifecycle.ports import RowAtFault, StoreClosed, StoreUnavailable
from lifecycle.workings.troubles import Troubles

T = TypeVar("T")
Told = tuple[type[Exception], ...]
log = logging.getLogger("signoff.workflow")


class Background:
    """The tasks that outlive their starter; `calls` names the proposal if one calls a tool."""

    def __init__(self, troubles: Troubles) -> None:
        """Log failures as errors, unless people are told of them as a trouble."""
        self._troubles = troubles
        self.tasks: set[asyncio.Task[Any]] = set()
        self.calls: dict[asyncio.Task[Any], str] = {}

    def spawn(
        self, work: Coroutine[Any, Any, T], *, calls_for: str = "", told: Told = ()
    ) -> asyncio.Task[T]:
        """Start work that goes on although its caller is cancelled, and return its task.

        `calls_for` is the id of the proposal whose tool the work calls, if it calls one. `told` are
        types of failures that people hear of otherwise, so that they are no error in the log.
        """
        task = asyncio.create_task(work)
        self.tasks.add(task)
        if calls_for:
            self.calls[task] = calls_for
        task.add_done_callback(partial(self._finished, told))
        return task

    async def shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work to its end even if the caller is cancelled; return its value if not."""
        return await asyncio.shield(self.spawn(work))

    async def idle(self) -> None:
        """Wait until no task of ours goes on, whoever started it."""
        while others := self.tasks - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def called(self, proposal_ids: Collection[str]) -> None:
        """Wait until no tool is being called for these proposals; calls for others may go on."""
        while ours := [task for task, about in self.calls.items() if about in proposal_ids]:
            await asyncio.wait(ours)

    async def end(self, by_s: float) -> None:
        """Wait for all tasks until `by_s`, by the loop's clock, then cancel what has not ended."""
        loop = asyncio.get_running_loop()
        while (tasks := set(self.tasks)) and loop.time() < by_s:
            # A task that ended may have started another, such as the roll back after a ❌.
            await asyncio.wait(tasks, timeout=by_s - loop.time())
        late = set(self.tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _finished(self, told: Told, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        self.calls.pop(task, None)
        if task.cancelled() or (error := task.exception()) is None:
            return
        tell = log.info if self._is_told(error, told) else log.error
        tell("background work failed: %s", located(error))

    def _is_told(self, error: BaseException, told: Told) -> bool:
        """Return whether people hear of this failure otherwise; of one row at fault they do not."""
        if isinstance(error, RowAtFault):
            return False
        store_told = self._troubles.unwritten.since_ms is not None
        known = (*told, StoreUnavailable) if store_told else told
        return isinstance(error, (*known, StoreClosed))
