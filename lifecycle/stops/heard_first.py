"""Before a proposal that had to wait begins, surfaces are asked for a ❌ that nobody has heard.

The opening job, a re-check and an agent's redemption ask here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lifecycle.world import World

log = logging.getLogger("signoff.workflow")

#: A proposal waits this long for cards that cannot be read, then it begins. If nobody asked for it
#: for this long, a new wait starts, and an answer of before counts no more.
WAITED_MS: Final = 10_000
#: How long one call waits for all answers together; late ones are looked at by the next call.
_TOGETHER_S: Final = 0.2
_AGAIN_S: Final = 0.5


@dataclass(slots=True)
class _Asked:
    """One question to the surfaces, since when it is asked, and when it was last looked at."""

    task: asyncio.Task[bool]
    since_ms: int
    looked_ms: int

    @property
    def heard(self) -> bool:
        """True once every ❌ was heard; if the question failed, it is asked again."""
        task = self.task
        return task.done() and not task.cancelled() and not task.exception() and task.result()


@dataclass(slots=True)
class HeardFirst:
    """Has the cards of a proposal read on surfaces that may have missed something.

    Its approval may have counted long ago, even in a former process, and a ❌ that came after it
    may stand on a card.
    """

    world: World
    asked: dict[str, _Asked] = field(default_factory=dict)

    async def among(self, proposal_ids: Sequence[str]) -> Sequence[str]:
        """Return, in order, which of these may begin; try the others again soon."""
        if not proposal_ids:
            return ()
        now_ms = self.world.clock.now_ms()
        self._forget(now_ms)
        asked = [(each, self._asking(each, now_ms)) for each in proposal_ids]
        await asyncio.wait({each.task for _, each in asked}, timeout=_TOGETHER_S)
        return [proposal_id for proposal_id, each in asked if self._may_begin(proposal_id, each)]

    async def in_time(self, proposal_id: str) -> None:
        """Wait until this proposal may begin, at most about WAITED_MS."""
        while not await self.among([proposal_id]):
            await self.world.clock.sleep(_AGAIN_S)

    def _asking(self, proposal_id: str, now_ms: int) -> _Asked:
        known = self.asked.get(proposal_id)
        if known is None or (known.task.done() and not known.heard):
            since_ms = now_ms if known is None else known.since_ms
            asking = self.world.notifier.hear_others(proposal_id, "")
            task = asyncio.ensure_future(asking)
            task.add_done_callback(_looked_at)
            known = self.asked[proposal_id] = _Asked(task, since_ms, now_ms)
        known.looked_ms = now_ms
        return known

    def _may_begin(self, proposal_id: str, asked: _Asked) -> bool:
        waited_ms = self.world.clock.now_ms() - asked.since_ms
        if not asked.heard and waited_ms < WAITED_MS:
            return False
        if not asked.heard:
            log.warning("%s begins although one of its cards cannot be read", proposal_id)
        self.asked.pop(proposal_id, None)
        return True

    def _forget(self, now_ms: int) -> None:
        """Drop the questions that nobody looked at for WAITED_MS: their answers may be outdated."""
        old = [key for key, each in self.asked.items() if now_ms - each.looked_ms > WAITED_MS]
        for key in old:
            del self.asked[key]


def _looked_at(task: asyncio.Task[bool]) -> None:
    if not task.cancelled():
        task.exception()  # else asyncio logs a stack trace if nobody asks again, as at the end
