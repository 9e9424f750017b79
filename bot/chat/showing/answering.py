"""Posts answers to commands: the first attempt in its turn, later attempts in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.chat.commands.replies import ANSWERED_AGAIN_S
from bot.chat.surface import SurfaceFailed
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: Posts what is left of an answer. Raises SurfaceFailed if another attempt may succeed.
Post = Callable[[], Awaitable[None]]


class Answers:
    """Posts the answers of one surface. A lost answer loses no decision: no command is run again
    for it, and none waits for its later attempts."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._later: set[asyncio.Task[None]] = set()

    async def post(self, post: Post) -> None:
        """Call `post` at once; if that fails, return and go on trying in a task."""
        try:
            await post()
        except SurfaceFailed as failure:
            task = asyncio.create_task(self._again(post, failure))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def close(self) -> None:
        """Cancel the attempts that are still waiting; those answers are never posted."""
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
