"""Close the rollback windows that are over: read the proposals page by page, close several in a
unit.

`bot/jobs/close_windows.py` calls it, once a round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from lifecycle.calls.carrying import Carrier
from lifecycle.calls.finishing import Concluded
from lifecycle.clockwork.cards_seen import CardsSeen
from lifecycle.clockwork.closing import close, may_close, not_closed, waits_for_a_stop, why_it_waits
from lifecycle.errors import StaleProposal
from lifecycle.freezing import frozen
from lifecycle.judging.adopting import Adopter
from lifecycle.moment import Moment
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.verdicts.last_judged import judged_under
from lifecycle.world import World

_PAGE = 200
#: The windows closed in one unit. While a unit runs nobody else can write, so they are few.
_BATCH = 32
#: The units on their way together. They share a commit, and units of others come between them.
_AT_ONCE = 2


@dataclass(slots=True)
class Closer:
    """Closes the windows that are over."""

    world: World
    carrier: Carrier
    adopter: Adopter
    cards_seen: CardsSeen = field(init=False)

    def __post_init__(self) -> None:
        """Begin without any reading of cards."""
        self.cards_seen = CardsSeen(self.world)

    async def close_due(self) -> int:
        """Close the windows that are over, earliest first; return how many.

        A window that cannot be closed does not hide those behind it. Each due window is tried once
        a round, however long the round takes: windows put off to the next round might wait for
        ever.
        """
        closed, seen, began_ms = 0, set[str](), self.world.clock.now_ms()
        page = await self._page(began_ms, None)
        while page and not self.world.ending:
            seen.update(proposal.proposal_id for proposal in page)
            closed += await self._close_page(page)
            page = await self._page(began_ms, page[-1]) if len(page) == _PAGE else ()
        if not page:
            self.cards_seen.keep(seen)
        return closed

    async def _page(self, began_ms: int, after: Proposal | None) -> Sequence[Proposal]:
        return await self.world.store.read(partial(_due_to_close, began_ms, after))

    async def _close_page(self, page: Sequence[Proposal]) -> int:
        """Close a page; return how many windows were closed.

        If a batch fails, its error is raised after the batches that have begun have ended.
        """
        batches = (page[start : start + _BATCH] for start in range(0, len(page), _BATCH))
        working = (self._close_batches(batches) for _ in range(_AT_ONCE))
        ended = await asyncio.gather(*working, return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return sum(each for each in ended if isinstance(each, int))

    async def _close_batches(self, batches: Iterator[Sequence[Proposal]]) -> int:
        """Close the batches that are left, one after another; several tasks share the iterator."""
        closed = 0
        for batch in batches:
            closed += await self._close_batch(batch)
        return closed

    async def _close_batch(self, batch: Sequence[Proposal]) -> int:
        for proposal in batch:
            if not judged_under(self.world.law.policy, proposal):
                await self.world.many.beside(
                    proposal.proposal_id, self.adopter.recheck_one(proposal)
                )
        readable, unreadable = await self.cards_seen.look(batch)
        for proposal in unreadable:
            await self._note_not_closed(proposal.proposal_id, "its card can be read on no surface")
        closed = await self._write_closings(readable) if readable else 0
        await self._tell_of_stops(batch)
        return closed

    async def _tell_of_stops(self, batch: Sequence[Proposal]) -> None:
        """Record for each proposal that a stop which nobody could process keeps its window open.

        After some failures people are called. This is done for cards that cannot be read as well:
        the fault that keeps a card from being read may be the one that keeps the stop waiting.
        """
        now_ms = self.world.clock.now_ms()
        for proposal in batch:
            if self.world.heard.late(now_ms, proposal.proposal_id):
                moment = self.world.moment()
                noting = self.world.write(partial(_note_kept_open, moment, proposal.proposal_id))
                await self.world.many.beside(proposal.proposal_id, noting)

    async def _write_closings(self, seen: Sequence[Proposal]) -> int:
        """Close proposals as they were read; if one has changed since, read all again and retry."""
        moment = self.world.moment()
        try:
            return self._carry_claims(await self.world.write(partial(_close_as_seen, moment, seen)))
        except StaleProposal:
            pass
        except Exception as error:
            if isinstance(error, StoreUnavailable) and not isinstance(error, RowAtFault):
                raise
            return await self._close_each(seen)
        try:
            return self._carry_claims(await self.world.write(partial(_close_afresh, moment, seen)))
        except RowAtFault:
            return await self._close_each(seen)

    async def _close_each(self, seen: Sequence[Proposal]) -> int:
        """Close each proposal in a unit of its own; return how many were closed.

        So a proposal that cannot be judged does not keep the others open. And if the store fails at
        one of them, the calls claimed before are made all the same.
        """
        closed = 0
        for proposal in seen:
            unit = partial(_close_afresh, self.world.moment(), [proposal])
            one = await self.world.many.beside(proposal.proposal_id, self.world.write(unit))
            closed += self._carry_claims(one or ())
            if one is None:
                await self._note_not_closed(
                    proposal.proposal_id, "it cannot be judged, as the log says"
                )
        return closed

    async def _note_not_closed(self, proposal_id: str, why: str) -> None:
        moment = self.world.moment()

        def unit(tx: Transaction) -> None:
            fresh = tx.proposals.get(proposal_id)
            if fresh is not None and may_close(tx, moment, fresh):
                not_closed(tx, moment, fresh, why)

        await self.world.many.beside(proposal_id, self.world.write(unit))

    def _carry_claims(self, concluded: Sequence[Concluded]) -> int:
        """Make the calls that were claimed; return how many windows were closed."""
        for each in concluded:
            self.carrier.carry_claim(each.claim)
        return len(concluded)


def _due_to_close(now_ms: int, after: Proposal | None, tx: Transaction) -> Sequence[Proposal]:
    return () if frozen(tx) else tx.proposals.due_to_close(now_ms, _PAGE, after)


def _fresh(tx: Transaction, seen: Sequence[Proposal]) -> list[Proposal]:
    looked_up = (tx.proposals.get(proposal.proposal_id) for proposal in seen)
    return [proposal for proposal in looked_up if proposal is not None]


def _close_as_seen(
    moment: Moment, proposals: Sequence[Proposal], tx: Transaction
) -> list[Concluded]:
    """Close the proposals that may be closed.

    Raises StaleProposal if one has changed; then the unit has no effect.
    """
    closed = [(seen, close(tx, moment, seen)) for seen in proposals]
    return [after for seen, after in closed if after.proposal is not seen]


def _close_afresh(moment: Moment, seen: Sequence[Proposal], tx: Transaction) -> list[Concluded]:
    return _close_as_seen(moment, _fresh(tx, seen), tx)


def _note_kept_open(moment: Moment, proposal_id: str, tx: Transaction) -> None:
    fresh = tx.proposals.get(proposal_id)
    if fresh is not None and waits_for_a_stop(tx, moment, fresh):
        not_closed(tx, moment, fresh, why_it_waits(moment, proposal_id))
