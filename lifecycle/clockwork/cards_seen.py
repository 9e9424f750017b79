"""Cards that are read before their windows close: one that takes long holds up its own alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lifecycle.proposal import Proposal
from lifecycle.tier import TIER_POLICIES, CardKind
from lifecycle.world import World

#: So long those of one unit are waited for together; what is late is come back to.
TOGETHER_S: Final = 1.0
#: An answer that came late counts so long: what was given on the card since is not in it.
_COUNTS_MS: Final = 75_000


@dataclass(slots=True)
class _Look:
    """One reading, and when its answer came."""

    task: asyncio.Task[bool]
    came_ms: int | None = None


@dataclass(slots=True)
class CardsSeen:
    """What is being read for a ❌ nobody heard, by proposal, also from one round to the next."""

    world: World
    begun: dict[str, _Look] = field(default_factory=dict)

    async def look(
        self, batch: Sequence[Proposal]
    ) -> tuple[Sequence[Proposal], Sequence[Proposal]]:
        """Read their cards; return whose were read, and whose can be read on no surface.

        What is not known yet is neither: the next round has its answer, or goes on waiting, while
        all others close; where that round comes too late, the card is read anew. Raises what a
        reading raised.
        """
        reading = [self._reading(proposal) for proposal in batch]
        await asyncio.wait(reading, timeout=TOGETHER_S)
        done = [(p, each) for p, each in zip(batch, reading, strict=True) if each.done()]
        for proposal, _ in done:
            self.begun.pop(proposal.proposal_id, None)
        seen = [(proposal, each.result()) for proposal, each in done]
        return [p for p, was_seen in seen if was_seen], [p for p, was in seen if not was]

    def keep(self, due: Sequence[Proposal]) -> None:
        """Let go of answers that no window waits for any more: one that does is read anew."""
        ids = {proposal.proposal_id for proposal in due}
        for proposal_id, look in list(self.begun.items()):
            if proposal_id not in ids and look.task.done():
                self.begun.pop(proposal_id)

    def _reading(self, proposal: Proposal) -> asyncio.Task[bool]:
        look = self.begun.get(proposal.proposal_id)
        if look is None or self._is_old(look):
            look = _Look(asyncio.create_task(self._seen(proposal)))
            look.task.add_done_callback(partial(self._came, look))
            self.begun[proposal.proposal_id] = look
        return look.task

    def _is_old(self, look: _Look) -> bool:
        now_ms = self.world.clock.now_ms()
        return look.came_ms is not None and now_ms - look.came_ms > _COUNTS_MS

    def _came(self, look: _Look, task: asyncio.Task[bool]) -> None:
        look.came_ms = self.world.clock.now_ms()
        if not task.cancelled():
            task.exception()  # an answer may be let go of: then nobody need hear how it failed

    async def _seen(self, proposal: Proposal) -> bool:
        """Read its cards for a ❌ nobody heard; True where that is done, or there is no card."""
        if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
            return True
        return await self.world.notifier.read_cards(proposal.proposal_id)
