"""Posts answers: the first try in its turn, whatever more it takes behind everything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.chat.commands.replies import ANSWERED_AGAIN_S
from bot.chat.surface import SurfaceFailed
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: Posts what is left of an answer. Raises SurfaceFailed where that may succeed later.
Post = Callable[[], Awaitable[None]]


class Answers:
    """An answer is comfort: no command is run again for it, and none waits behind it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._later: set[asyncio.Task[None]] = set()

    async def post(self, post: Post) -> None:
        """Post at once, or again later by itself."""
        try:
            await post()
        except SurfaceFailed as failure:
            task = asyncio.create_task(self._again(post, failure))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def close(self) -> None:
        """Let go of what could not be posted so far."""
        for task in self._later:
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    async def _again(self, post: Post, failure: SurfaceFailed) -> None:
        for pause_s in ANSWERED_AGAIN_S:
            await self._world.clock.sleep(failure.retry_after_s or pause_s)
            try:
                await post()
                return
            except SurfaceFailed as again:
                failure = again
        log.warning("an answer is not posted: %s", failure)
