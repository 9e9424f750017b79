"""Keeping house: what the clock brings. Each verb asks the store what is due and counts it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from lifecycle.adopting import Adopter
from lifecycle.calls.finishing import Concluded
from lifecycle.clockwork.cards_seen import CardsSeen
from lifecycle.clockwork.closing import close, may_close, not_closed, waits_for_a_stop, why_it_waits
from lifecycle.door import amend, announce, record
from lifecycle.errors import StaleProposal
from lifecycle.expiry import call_people, expire, stuck, undecided
from lifecycle.freezing import frozen
from lifecycle.gating import Gatekeeper
from lifecycle.moment import Moment, clock_words
from lifecycle.opening import card_is_out
from lifecycle.people.explaining import reason_wait_over
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.proposal import CLOCK, SENTINEL, Proposal
from lifecycle.state import State
from lifecycle.world import World

_PAGE = 200
#: So many windows are closed in one unit: the store belongs to nobody else meanwhile.
_BATCH = 32
#: So many units are on their way together: they share a commit, and others' come between them.
_AT_ONCE = 2
_AGAIN_MS = 5_000


@dataclass(slots=True)
class Keeper:
    """Asks what is due. `look_again_ms` spares Sentinel a question a second about what waits;
    `since_ms` is when it began to look at deadlines."""

    world: World
    gatekeeper: Gatekeeper
    adopter: Adopter
    look_again_ms: dict[str, int] = field(default_factory=dict)
    since_ms: int | None = None
    cards_seen: CardsSeen = field(init=False)

    def __post_init__(self) -> None:
        """Begin with no card under way."""
        self.cards_seen = CardsSeen(self.world)

    async def close_due(self) -> int:
        """Close the windows that have passed, nearest first, until none of them can be closed."""
        closed = 0
        while True:
            moment = self.world.moment()
            due = await self.world.store.read(partial(_due_to_close, moment.now_ms))
            ready = [p for p in due if (p.retry_at_ms or 0) <= moment.now_ms]
            self.cards_seen.keep(ready)
            before = closed
            batches = [ready[start : start + _BATCH] for start in range(0, len(ready), _BATCH)]
            for start in range(0, len(batches), _AT_ONCE):
                closed += await self._close_together(batches[start : start + _AT_ONCE])
            if len(due) < _PAGE or closed == before or self.world.stopping:
                return closed

    async def _close_together(self, batches: Sequence[Sequence[Proposal]]) -> int:
        """Close some batches and return how many windows that were; all of them end before one
        that failed is told of."""
        closing = map(self._close_batch, batches)
        ended = await asyncio.gather(*closing, return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return sum(each for each in ended if isinstance(each, int))

    async def _close_batch(self, batch: Sequence[Proposal]) -> int:
        for proposal in batch:
            if proposal.checked_policy_digest != self.world.law.policy.digest:
                await self.world.beside(proposal.proposal_id, self.adopter.recheck_one(proposal))
        readable, unreadable = await self.cards_seen.look(batch)
        for proposal in unreadable:
            await self._not_closed(proposal.proposal_id, "its card can be read on no surface")
        closed = await self._closed(readable) if readable else 0
        await self._tell_of_stops(batch)
        return closed

    async def _tell_of_stops(self, batch: Sequence[Proposal]) -> None:
        """Note what stays open over a stop that nobody can work: people are called in the end.

        Also where its card cannot be read: what is ill there may be what keeps the stop waiting.
        """
        now_ms = self.world.clock.now_ms()
        for proposal in batch:
            if self.world.heard.late(now_ms, proposal.proposal_id):
                moment = self.world.moment()
                noting = self.world.write(partial(_kept_open, moment, proposal.proposal_id))
                await self.world.beside(proposal.proposal_id, noting)

    async def _closed(self, seen: Sequence[Proposal]) -> int:
        """Close as seen a moment ago; where one has moved since, look at all of them again."""
        moment = self.world.moment()
        try:
            return self._carry(await self.world.write(partial(_closed, moment, seen)))
        except StaleProposal:
            pass
        except Exception as error:
            if isinstance(error, StoreUnavailable) and not isinstance(error, RowAtFault):
                raise
            return await self._each_closed(seen)
        try:
            return self._carry(await self.world.write(partial(_closed_afresh, moment, seen)))
        except RowAtFault:
            return await self._each_closed(seen)

    async def _each_closed(self, seen: Sequence[Proposal]) -> int:
        """Close each by itself: one that cannot be judged stands in the way of none beside it, and
        a store that fails at the next one in the way of no call."""
        closed = 0
        for proposal in seen:
            unit = partial(_closed_afresh, self.world.moment(), [proposal])
            one = await self.world.beside(proposal.proposal_id, self.world.write(unit))
            closed += self._carry(one or ())
            if one is None:
                await self._not_closed(proposal.proposal_id, "it cannot be judged, as the log says")
        return closed

    async def _not_closed(self, proposal_id: str, why: str) -> None:
        moment = self.world.moment()

        def unit(tx: Transaction) -> None:
            fresh = tx.proposals.get(proposal_id)
            if fresh is not None and may_close(tx, moment, fresh):
                not_closed(tx, moment, fresh, why)

        await self.world.beside(proposal_id, self.world.write(unit))

    async def expire_due(self) -> int:
        """Reject what is past its deadline, but not what a stop that waits decides."""
        moment = self.world.moment()
        since_ms = self.since_ms = moment.now_ms if self.since_ms is None else self.since_ms
        ids = await self.world.store.read(partial(_past_their_deadline, moment, since_ms))
        return await self.world.write_each(ids, partial(_expired, moment, since_ms))

    async def open_ready(self) -> int:
        """Try to begin what is approved and had to wait, oldest first."""
        worth: list[tuple[int, str]] = []
        after: str | None = ""
        moment = self.world.moment()
        while after is not None:
            page, after = await self.world.store.read(partial(self._worth_trying, moment, after))
            worth += page
        opened, ids = 0, [proposal_id for _, proposal_id in sorted(worth)]
        for proposal_id in await self.gatekeeper.heard_first.among(ids):
            if self.world.stopping:
                break
            tried = await self.world.beside(proposal_id, self.gatekeeper.open(proposal_id))
            opened += tried is not None and tried.state is not State.SENTINEL_APPROVED
            self._look_again(tried, moment.now_ms)
        later = self.look_again_ms.items()  # of the others some are not waiting any more
        self.look_again_ms = {key: at_ms for key, at_ms in later if at_ms > moment.now_ms}
        return opened

    def _look_again(self, tried: Proposal | None, now_ms: int) -> None:
        if tried is None or tried.state is not State.SENTINEL_APPROVED:
            self.look_again_ms.pop(tried.proposal_id if tried else "", None)
        else:
            self.look_again_ms[tried.proposal_id] = now_ms + _AGAIN_MS

    def _worth_trying(
        self, moment: Moment, after: str, tx: Transaction
    ) -> tuple[list[tuple[int, str]], str | None]:
        """Return (since when, id) where no obstacle is cheap to see, and where to go on."""
        page = tx.proposals.ready_to_open(_PAGE, after)
        stands = frozen(tx) is not None
        worth = [
            (p.created_at_ms, p.proposal_id)
            for p in page
            if not p.permit_waits and self._changed(tx, moment, p, frozen_now=stands)
        ]
        return worth, page[-1].proposal_id if page else None

    def _changed(
        self, tx: Transaction, moment: Moment, proposal: Proposal, *, frozen_now: bool
    ) -> bool:
        match proposal.waiting_for:
            case "frozen":
                return not frozen_now
            case "valid_from_ms":
                return moment.now_ms >= (proposal.valid_from_ms or 0)
            case "its card":
                return card_is_out(tx, moment, proposal)
            case None:
                return True
            case _:
                return moment.now_ms >= self.look_again_ms.get(proposal.proposal_id, 0)

    async def remind(self) -> int:
        """Remind people once of what waits for them, at a quarter of the remaining time."""
        moment = self.world.moment()
        due = await self.world.store.read(lambda tx: tx.proposals.to_remind(moment.now_ms, _PAGE))
        ids = [proposal.proposal_id for proposal in due]
        return await self.world.write_each(ids, partial(_reminded, moment))

    async def reasons_due(self) -> int:
        """Tell proposers of a ❌ for which nobody gave a reason in time."""
        moment = self.world.moment()
        due = await self.world.store.read(lambda tx: tx.proposals.reasons_due(moment.now_ms, _PAGE))
        for proposal in due:
            telling = self.world.write(partial(_no_reason, moment, proposal.proposal_id))
            await self.world.beside(proposal.proposal_id, telling)
        return len(due)

    async def anchor(self) -> int:
        """Show the head of the audit trail on every surface, once a day."""
        moment = self.world.moment()
        return await self.world.write(lambda tx: _anchored(tx, moment))

    def _carry(self, concluded: Sequence[Concluded]) -> int:
        """Make the calls that were claimed, as soon as they were; return what was closed."""
        for each in concluded:
            self.gatekeeper.carrier.carry_claim(each.claim)
        return len(concluded)


def _due_to_close(now_ms: int, tx: Transaction) -> Sequence[Proposal]:
    return () if frozen(tx) else tx.proposals.due_to_close(now_ms, _PAGE)


def _fresh(tx: Transaction, seen: Sequence[Proposal]) -> list[Proposal]:
    looked_up = (tx.proposals.get(proposal.proposal_id) for proposal in seen)
    return [proposal for proposal in looked_up if proposal is not None]


def _closed(moment: Moment, proposals: Sequence[Proposal], tx: Transaction) -> list[Concluded]:
    """Close what may be closed. Raises StaleProposal, and nothing is done, where one has moved."""
    closed = [(seen, close(tx, moment, seen)) for seen in proposals]
    return [after for seen, after in closed if after.proposal is not seen]


def _closed_afresh(moment: Moment, seen: Sequence[Proposal], tx: Transaction) -> list[Concluded]:
    return _closed(moment, _fresh(tx, seen), tx)


def _kept_open(moment: Moment, proposal_id: str, tx: Transaction) -> None:
    fresh = tx.proposals.get(proposal_id)
    if fresh is not None and waits_for_a_stop(tx, moment, fresh):
        not_closed(tx, moment, fresh, why_it_waits(moment, proposal_id))


def _past_their_deadline(moment: Moment, since_ms: int, tx: Transaction) -> list[str]:
    """Return what can be ended, or is to be told of; what a stop keeps hides nothing behind it."""
    kept = len(moment.held) + len(moment.heard.ids())
    due = tx.proposals.due_to_expire(moment.now_ms, _PAGE + kept)
    ended = (p for p in due if stuck(moment, p, since_ms) or not undecided(tx, moment, p))
    return [p.proposal_id for p in ended]


def _expired(moment: Moment, since_ms: int, tx: Transaction, ids: Sequence[str]) -> int:
    fresh = [tx.proposals.get(proposal_id) for proposal_id in ids]
    late = [p for p in fresh if p is not None and p.expired(moment.now_ms)]
    ended = [expire(tx, moment, proposal) for proposal in late]
    for kept in ended:
        if not kept.terminal and stuck(moment, kept, since_ms):
            call_people(tx, moment, kept)
    return sum(proposal.terminal for proposal in ended)


def _reminded(moment: Moment, tx: Transaction, ids: Sequence[str]) -> int:
    count = 0
    for proposal_id in ids:
        proposal = tx.proposals.get(proposal_id)
        if proposal is None or proposal.terminal or proposal.reminded_at_ms is not None:
            continue
        amend(tx, moment, proposal, "reminded", CLOCK, reminded_at_ms=moment.now_ms)
        until = clock_words(proposal.deadline_ms)
        words = f"{proposal_id} ({proposal.tool}) still waits for people, until {until}."
        announce(tx, moment, f"remind:{proposal_id}", words, proposal_id)
        count += 1
    return count


def _no_reason(moment: Moment, proposal_id: str, tx: Transaction) -> None:
    proposal = tx.proposals.get(proposal_id)
    if proposal is not None and proposal.reason_due_ms is not None and proposal.terminal:
        reason_wait_over(tx, moment, proposal)


def _anchored(tx: Transaction, moment: Moment) -> int:
    day = moment.now_ms // 86_400_000
    last = tx.flags.get("anchor")
    seq, head = tx.audit.head()
    if (isinstance(last, Mapping) and last.get("day") == day) or seq == 0:
        return 0
    tx.flags.put("anchor", {"day": day, "seq": seq, "hash": head})
    announce(tx, moment, f"anchor:{day}", f"Audit head: entry {seq}, {head}")
    record(tx, moment, "anchored", SENTINEL, details={"seq": seq, "hash": head})
    return 1
