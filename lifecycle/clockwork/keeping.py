"""Do what becomes due with time: deadlines, openings, reminders, reasons, the daily anchor.

Jobs call one verb each. A verb asks the store what is due, does it, and returns how many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from lifecycle.announcing import announce
from lifecycle.door import amend, record
from lifecycle.event_kinds import EventKind
from lifecycle.expiry import call_people, expire, stuck, undecided
from lifecycle.freezing import frozen
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.moment import Moment, clock_words
from lifecycle.opening import card_is_out
from lifecycle.people.explaining import reason_wait_over
from lifecycle.ports import Transaction
from lifecycle.proposal import CLOCK, SENTINEL, Proposal
from lifecycle.state import State
from lifecycle.world import World

_PAGE = 200
_AGAIN_MS = 5_000


@dataclass(slots=True)
class Keeper:
    """Does the chores.

    `look_again_ms` is, by proposal, when to try again to open one that waits; it spares Sentinel a
    question every second. `since_ms` is when this process began to look at deadlines, in ms UTC.
    """

    world: World
    gatekeeper: Gatekeeper
    look_again_ms: dict[str, int] = field(default_factory=dict)
    since_ms: int | None = None

    async def expire_due(self) -> int:
        """Reject what is past its deadline, unless a stop that waits may still decide it."""
        moment = self.world.moment()
        since_ms = self.since_ms = moment.now_ms if self.since_ms is None else self.since_ms
        ids = await self.world.store.read(partial(_past_their_deadline, moment, since_ms))
        return await self.world.many.write(ids, partial(_expired, moment, since_ms))

    async def open_ready(self) -> int:
        """Try to begin approved proposals that had to wait, oldest first; return how many began."""
        worth: list[tuple[int, str]] = []
        after: str | None = ""
        moment = self.world.moment()
        while after is not None:
            page, after = await self.world.store.read(partial(self._worth_trying, moment, after))
            worth += page
        opened, ids = 0, [proposal_id for _, proposal_id in sorted(worth)]
        for proposal_id in await self.gatekeeper.heard_first.among(ids):
            if self.world.ending:
                break
            tried = await self.world.many.beside(proposal_id, self.gatekeeper.open(proposal_id))
            opened += tried is not None and tried.state is not State.SENTINEL_APPROVED
            self._look_again(tried, moment.now_ms)
        later = self.look_again_ms.items()  # drop passed times: many of those wait no more
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
        """Return a page of (created at ms, id) of proposals worth trying, and the id to go on from.

        Left out are proposals with an obstacle that is cheap to see here. The id is None after the
        last page.
        """
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
        return await self.world.many.write(ids, partial(_reminded, moment))

    async def reasons_due(self) -> int:
        """Tell the proposer of a ❌ without its reason, if nobody gave one in time."""
        moment = self.world.moment()
        due = await self.world.store.read(lambda tx: tx.proposals.reasons_due(moment.now_ms, _PAGE))
        for proposal in due:
            telling = self.world.write(partial(_no_reason, moment, proposal.proposal_id))
            await self.world.many.beside(proposal.proposal_id, telling)
        return len(due)

    async def anchor(self) -> int:
        """Show the head of the audit trail on every surface, once a day."""
        moment = self.world.moment()
        return await self.world.write(lambda tx: _anchored(tx, moment))


def _past_their_deadline(moment: Moment, since_ms: int, tx: Transaction) -> list[str]:
    """Return the ids of proposals that can be ended, or of which people must be told.

    The page is longer by as many as a stop may keep open, so that those do not hide others behind
    them.
    """
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
        amend(tx, moment, proposal, EventKind.REMINDED, CLOCK, reminded_at_ms=moment.now_ms)
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
    # A day may come twice if a clock was ahead. So the key has the head, too: the later tells more.
    announce(tx, moment, f"anchor:{day}:{seq}", f"Audit head: entry {seq}, {head}")
    record(tx, moment, EventKind.ANCHORED, SENTINEL, details={"seq": seq, "hash": head})
    return 1
