"""Says notes and answers in tasks of their own, so that no decision waits until they are said."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final

from bot.chat.surface import SurfaceFailed
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable

log = logging.getLogger("signoff.surfaces")

#: So many notes may wait to be said; more than that are left unsaid.
_MOST: Final = 1_000
#: So many of them may be for one recipient: whoever asks all the time leaves room for others.
_MOST_OF_ONE: Final = 100


class Asides:
    """The notes of one surface that wait to be said; those to one recipient keep their order."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: dict[str, asyncio.Task[None]] = {}
        self._waiting: Counter[str] = Counter()

    @property
    def quiet(self) -> bool:
        """True while nothing waits to be said."""
        return not self._tasks

    def begin(self, saying: Coroutine[Any, Any, object], to: str | None = None) -> None:
        """Say something in a task of its own, unless too many wait. With `to`, what that recipient
        is told before comes first."""
        if len(self._tasks) >= _MOST or (to is not None and self._waiting[to] >= _MOST_OF_ONE):
            saying.close()
            log.warning("a note is left unsaid: %d others wait", len(self._tasks))
            return
        before = self._last.get(to) if to is not None else None
        task = asyncio.create_task(_said(saying, before))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: saying.close())  # also if it was cancelled before its turn
        if to is not None:
            self._last[to] = task
            self._waiting[to] += 1
            task.add_done_callback(lambda ended: self._forget(to, ended))

    async def settled(self) -> None:
        """Wait until nothing waits to be said."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Cancel what could not be said so far."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _forget(self, to: str, ended: asyncio.Task[None]) -> None:
        self._waiting[to] -= 1
        if self._last.get(to) is ended:
            del self._last[to]
        if not self._waiting[to]:
            del self._waiting[to]


async def _said(saying: Coroutine[Any, Any, object], before: asyncio.Task[None] | None) -> None:
    try:
        if before is not None:
            await asyncio.wait({before})
        await saying
    except (SurfaceFailed, StoreUnavailable) as failure:
        log.info("a note could not be posted: %s", failure)
    except Exception as error:
        log.error("a note could not be posted: %s", located(error))
