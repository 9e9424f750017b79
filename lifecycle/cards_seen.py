"""Cards that are read before their windows close: one that takes long holds up its own alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lifecycle.proposal import Proposal
from lifecycle.tier import TIER_POLICIES, CardKind
from lifecycle.world import World

#: So long those of one unit are waited for together; what is late is come back to.
TOGETHER_S: Final = 1.0


@dataclass(slots=True)
class CardsSeen:
    """What is being read for a ❌ nobody heard, by proposal, also from one round to the next."""

    world: World
    begun: dict[str, asyncio.Task[bool]] = field(default_factory=dict)

    async def look(
        self, batch: Sequence[Proposal]
    ) -> tuple[Sequence[Proposal], Sequence[Proposal]]:
        """Read their cards; return whose were read, and whose can be read on no surface.

        What is not known yet is neither: the next round has its answer, or goes on waiting, while
        all others close. Raises what a reading raised.
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
        for proposal_id, task in list(self.begun.items()):
            if proposal_id not in ids and task.done():
                self.begun.pop(proposal_id)

    def _reading(self, proposal: Proposal) -> asyncio.Task[bool]:
        task = self.begun.get(proposal.proposal_id)
        if task is None:
            task = asyncio.create_task(self._seen(proposal))
            task.add_done_callback(_looked_at)
            self.begun[proposal.proposal_id] = task
        return task

    async def _seen(self, proposal: Proposal) -> bool:
        """Read its cards for a ❌ nobody heard; True where that is done, or there is no card."""
        if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
            return True
        return await self.world.notifier.read_cards(proposal.proposal_id)


def _looked_at(task: asyncio.Task[bool]) -> None:
    """An answer may be let go of: then nobody need hear with what it failed."""
    if not task.cancelled():
        task.exception()
