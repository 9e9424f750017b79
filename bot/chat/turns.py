"""Work in the order in which it came, key by key, without ever holding up whoever heard it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

log = logging.getLogger("signoff.surfaces")

#: How long `close` waits for what has been heard.
_LONGEST_WAIT_S: Final = 5.0


class Turns:
    """One line of waiting work a key (a message): signals on one card never overtake each other.

    `take` returns at once and never raises; what fails is logged and the next one goes on.
    """

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}

    def take(self, key: str, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Do `work` after everything that was taken before under the same key."""
        before = self._last.get(key)
        task = asyncio.create_task(_in_turn(before, work))
        self._last[key] = task
        task.add_done_callback(lambda done: self._forget(key, done))

    async def settled(self, key: str) -> None:
        """Wait until everything that was taken under `key` is done."""
        while (task := self._last.get(key)) is not None and task is not asyncio.current_task():
            await asyncio.wait((task,))
            await asyncio.sleep(0)

    async def all_settled(self) -> None:
        """Wait until nothing waits."""
        while self._last:
            await asyncio.wait(list(self._last.values()))
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Give what waits a moment to end, then cut it off."""
        if not self._last:
            return
        _, late = await asyncio.wait(list(self._last.values()), timeout=_LONGEST_WAIT_S)
        for task in late:
            task.cancel()

    def _forget(self, key: str, done: asyncio.Task[None]) -> None:
        if self._last.get(key) is done:
            del self._last[key]


async def _in_turn(
    before: asyncio.Task[None] | None, work: Callable[[], Coroutine[Any, Any, object]]
) -> None:
    if before is not None:
        await asyncio.wait((before,))
    try:
        await work()
    except Exception as error:
        log.error(
            "an event could not be worked: %s",
            type(error).__name__,
            exc_info=log.isEnabledFor(logging.DEBUG),
        )
