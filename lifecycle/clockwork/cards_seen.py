"""Read the cards of proposals before their windows close, in search of a ❌ that nobody heard.

The closing job asks before each batch. A card that takes long to read holds up the window of its
own proposal alone; the other windows of the batch close.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lifecycle.proposal import Proposal
from lifecycle.tier import TIER_POLICIES, CardKind
from lifecycle.world import World

#: How long `look` waits for the cards of one batch. Later answers are used in the next round.
TOGETHER_S: Final = 1.0
#: The most readings that are kept, so that a platform that hangs is not asked for ever more.
_MOST: Final = 1_000
#: How long a finished reading is used. After that the card may bear a ❌ that was not there when it
#: was read, so it is read again.
_COUNTS_MS: Final = 75_000


@dataclass(slots=True)
class _Look:
    """One reading of a proposal's cards; `came_ms` is when it ended, None while it runs."""

    task: asyncio.Task[bool]
    came_ms: int | None = None


@dataclass(slots=True)
class CardsSeen:
    """The readings that have begun, by proposal id; they are kept from one round to the next."""

    world: World
    begun: dict[str, _Look] = field(default_factory=dict)

    async def look(
        self, batch: Sequence[Proposal]
    ) -> tuple[Sequence[Proposal], Sequence[Proposal]]:
        """Read the cards of a batch; return (proposals whose cards were read, proposals with no
        readable card).

        Cards still being read are in neither list; the next round picks them up. A reading that
        ended too long ago for that is made anew. Raises StoreUnavailable.
        """
        begun = [each for proposal in batch if (each := self._begun_now(proposal)) is not None]
        if begun:  # readings of an earlier round are not waited for a second time
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
        """Forget finished readings of all proposals but `ids`, those whose windows are due now.

        If such a proposal comes back, its cards are read anew.
        """
        for proposal_id, look in list(self.begun.items()):
            if proposal_id not in ids and look.task.done():
                self.begun.pop(proposal_id)

    def _begun_now(self, proposal: Proposal) -> asyncio.Task[bool] | None:
        """Begin to read the cards of a proposal and return the task.

        Return None if a reading is under way or recent enough, or if too many are kept already.
        """
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
            task.exception()  # else asyncio complains if `keep` drops a reading that failed

    async def _seen(self, proposal: Proposal) -> bool:
        """Read the cards of a proposal; return True if they were read, or it has none to read."""
        if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
            return True
        reading = self.world.notifier.read_cards(proposal.proposal_id)
        return bool(await self.world.many.beside(proposal.proposal_id, reading))
