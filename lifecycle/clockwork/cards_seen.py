"""Cards that are read before their windows close: one that takes long holds up its own alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lifecycle.proposal import Proposal
from lifecycle.tier import TIER_POLICIES, CardKind
from lifecycle.world import World

#: So long those of one unit are waited for together; what is late is come back to.
TOGETHER_S: Final = 1.0
#: So many are under way at most; a platform that hangs is asked for no more.
_MOST: Final = 1_000
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

        What is not known yet is neither: the next round has its answer, while all others close;
        where that round comes too late, the card is read anew. Raises StoreUnavailable.
        """
        begun = [each for proposal in batch if (each := self._begun_now(proposal)) is not None]
        if begun:  # what an earlier round began is not waited for again
            await asyncio.wait(begun, timeout=TOGETHER_S)
        seen: list[Proposal] = []
        unseen: list[Proposal] = []
        for proposal in batch:
            look = self.begun.get(proposal.proposal_id)
            if look is not None and look.task.done():
                self.begun.pop(proposal.proposal_id)
                (seen if look.task.result() else unseen).append(proposal)
        return seen, unseen

    def keep(self, ids: Set[str]) -> None:
        """Let go of answers that no window but these waits for: one that comes is read anew."""
        for proposal_id, look in list(self.begun.items()):
            if proposal_id not in ids and look.task.done():
                self.begun.pop(proposal_id)

    def _begun_now(self, proposal: Proposal) -> asyncio.Task[bool] | None:
        """Begin to read its cards, where that is not under way and not too much is."""
        known = self.begun.get(proposal.proposal_id)
        if (known is None and len(self.begun) >= _MOST) or (known and not self._is_old(known)):
            return None
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
        reading = self.world.notifier.read_cards(proposal.proposal_id)
        return bool(await self.world.many.beside(proposal.proposal_id, reading))
