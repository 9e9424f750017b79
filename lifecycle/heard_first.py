"""Before what had to wait begins: a ❌ that was given meanwhile and that nobody heard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lifecycle.world import World

log = logging.getLogger("signoff.workflow")

#: So long it waits for cards that cannot be read, then it begins. Where nobody came back to it for
#: as long, it is another wait, and what was heard before is no answer any more.
WAITED_MS: Final = 10_000
#: So long the answers are waited for together; what is late is come back to.
_TOGETHER_S: Final = 0.2
_AGAIN_S: Final = 0.5


@dataclass(slots=True)
class _Asked:
    """One question, since when it is asked, and when somebody last came back to it."""

    task: asyncio.Task[bool]
    since_ms: int
    looked_ms: int

    @property
    def heard(self) -> bool:
        """True once every ❌ was heard; a question that failed is asked again."""
        task = self.task
        return task.done() and not task.cancelled() and not task.exception() and task.result()


@dataclass(slots=True)
class HeardFirst:
    """Has the cards read on surfaces that may have missed something, by proposal.

    An approval counted long ago, perhaps in a former process: the ❌ after it stands on a card.
    """

    world: World
    asked: dict[str, _Asked] = field(default_factory=dict)

    async def among(self, proposal_ids: Sequence[str]) -> Sequence[str]:
        """Return, in order, which of these may begin; the others are to be tried again soon."""
        if not proposal_ids:
            return ()
        now_ms = self.world.clock.now_ms()
        self._forget(now_ms)
        asked = [(each, self._asking(each, now_ms)) for each in proposal_ids]
        await asyncio.wait({each.task for _, each in asked}, timeout=_TOGETHER_S)
        return [proposal_id for proposal_id, each in asked if self._may_begin(proposal_id, each)]

    async def in_time(self, proposal_id: str) -> None:
        """Wait until this one may begin."""
        while not await self.among([proposal_id]):
            await self.world.clock.sleep(_AGAIN_S)

    def _asking(self, proposal_id: str, now_ms: int) -> _Asked:
        known = self.asked.get(proposal_id)
        if known is None or (known.task.done() and not known.heard):
            since_ms = now_ms if known is None else known.since_ms
            asking = self.world.notifier.hear_others(proposal_id, "")
            task = asyncio.ensure_future(asking)
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
        """Let go of what nobody came back to: it could not begin then, whatever was heard."""
        old = [key for key, each in self.asked.items() if now_ms - each.looked_ms > WAITED_MS]
        for key in old:
            del self.asked[key]
