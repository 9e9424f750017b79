"""Posts answers to commands: the first attempt in its turn, later attempts in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from bot.chat.surface import SurfaceFailed
from lifecycle.ending import answered, tell_instead
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.state import State
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

#: The pauses in seconds after which an answer that could not be posted is tried again.
_AGAIN_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
#: So long an end is held back while its answer is tried again: a minute longer than that takes.
_HELD_MS: Final = int(1000 * sum(_AGAIN_S)) + 60_000

#: Posts what is left of an answer. Raises SurfaceFailed, lasting if no attempt would succeed.
Post = Callable[[], Awaitable[None]]


class Answers:
    """Posts the answers of one surface. A lost answer loses no decision: no command is run again
    for it, and none waits for its later attempts. Nor does it lose an end: that is told instead."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._later: set[asyncio.Task[None]] = set()

    async def post(self, post: Post, document: Mapping[str, Any] | None = None) -> None:
        """Call `post` at once; if that fails for now, return and go on trying in a task.

        `document` is what a proposer is answered. If it tells of an end, that is kept in case the
        answer is never posted, also because the bot ends.
        """
        try:
            await post()
        except SurfaceFailed as failure:
            ended, held_ms = _end_in(document), 0 if failure.lasting else _HELD_MS
            if ended is not None:
                moment = self._world.moment()
                await self._note(lambda tx: tell_instead(tx, moment, ended, held_ms))
            if failure.lasting:
                return
            task = asyncio.create_task(self._again(post, failure, ended))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def close(self) -> None:
        """Cancel the attempts that are still waiting; those answers are never posted."""
        for task in self._later:
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)

    async def _again(self, post: Post, failure: SurfaceFailed, ended: str | None) -> None:
        for pause_s in _AGAIN_S:
            await self._world.clock.sleep(failure.retry_after_s or pause_s)
            try:
                await post()
            except SurfaceFailed as again:
                failure = again
                continue
            if ended is not None:
                await self._note(partial(answered, moment=self._world.moment(), proposal_id=ended))
            return
        log.warning("an answer is not posted: %s", failure)

    async def _note(self, unit: Callable[[Transaction], None]) -> None:
        """Run a unit. If the store takes nothing, people are told of that already."""
        with suppress(StoreUnavailable):
            await self._world.write(unit)


def _end_in(document: Mapping[str, Any] | None) -> str | None:
    """Return the id of the proposal of whose end an answer tells, None if it tells of none."""
    told = document or {}
    state, proposal_id = told.get("state"), told.get("proposal_id")
    return proposal_id if state is not None and State(state).terminal else None
