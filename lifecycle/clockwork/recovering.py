"""What a former process left: stops on disk, calls cut off, checks that nobody waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import itemgetter

from lifecycle.agents import reporting
from lifecycle.agreeing.rows import stands_as_told
from lifecycle.calls.claiming import Claim, reclaim
from lifecycle.calls.finishing import Concluded
from lifecycle.calls.mishaps import unknown
from lifecycle.clockwork.lost_calls import LostCalls
from lifecycle.existing import existing
from lifecycle.freezing import stands_still
from lifecycle.gating import Gatekeeper
from lifecycle.heard import HEARD, placed
from lifecycle.moment import Moment
from lifecycle.opening import tell_of_a_changed_row
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import CLOCK, Outcome, Proposal, Verb
from lifecycle.world import World

_PAGE = 200
_ORPHANED_MS = 5_000
#: A tool marked idempotent is called again under the same key at most twice after a crash.
_TRIES = 3


class Orphaned(Enum):
    """What became of whoever was to make a call, as people are told it."""

    ENDED = "The process ended while the tool was running"
    LOST = "Signoff has lost sight of this call, and cannot say whether it was made"


@dataclass(slots=True)
class Recoverer:
    """Takes up calls and checks that a crash cut off.

    `orphans` are the calls that nobody makes any more, by the ids of their proposals.
    """

    world: World
    gatekeeper: Gatekeeper
    orphans: dict[str, Orphaned] = field(default_factory=dict)
    lost: LostCalls = field(default_factory=LostCalls)

    async def find_orphans(self) -> None:
        """Find the calls that a former process did not live to hear of, before any call of ours.

        A call that began in this process has its task, unless it is lost.
        """
        after = ""
        while True:
            page = await self.world.store.read(partial(_in_flight, after))
            self.orphans |= {p.proposal_id: Orphaned.ENDED for p in page if not _agents_own(p)}
            if not page:  # a page may be short of a row that cannot be read
                return
            after = page[-1].proposal_id

    async def recover(self) -> int:
        """Take up orphaned calls and checks, and agents that never reported."""
        await self._place_stops()
        taken = 0
        for proposal_id, how in sorted(self.orphans.items(), key=itemgetter(0)):
            done = await self.world.many.beside(proposal_id, self._recover_call(proposal_id, how))
            taken += done or False
        return taken + await self._look_at_calls() + await self._recover_checks()

    async def _place_stops(self) -> None:
        """Note of what a stop is whose message was no card yet when it came, and is one by now.

        Only then are people called where nobody can work it, and can let go of it.
        """
        heard = self.world.heard
        unplaced = heard.unplaced()
        if not unplaced:
            return
        found = await self.world.store.read(lambda tx: [placed(tx, stop) for stop in unplaced])
        for stop in found:
            if not stop.unplaced and heard.get(stop.key) is not None:
                heard.add(stop)

    async def _recover_call(self, proposal_id: str, how: Orphaned) -> bool:
        if how is Orphaned.LOST and await self._may_be_made(proposal_id):
            return False
        concluded = await self.world.write(
            lambda tx: _recovered(tx, self.world.moment(), proposal_id, how)
        )
        if concluded is None:
            return False
        self.orphans.pop(proposal_id, None)
        self.gatekeeper.carrier.carry_claim(concluded.claim)
        return True

    async def _may_be_made(self, proposal_id: str) -> bool:
        """Say whether somebody makes a call all the same, or may in a moment.

        The store may have stood still when the intent could be seen and before it answered. That
        answer comes before the one to what is written now, and whoever waits for it calls at once,
        or looks first whether the store takes everything again.
        """
        await self.world.store.write(_nothing)
        if proposal_id in self.world.background.calls.values():
            self.orphans.pop(proposal_id, None)
            return True
        return self.world.troubles.unwritten.looking

    async def _look_at_calls(self) -> int:
        """Call people to agents that never reported; find the calls of ours that are lost."""
        called, after, moment = 0, "", self.world.moment()
        while page := await self.world.store.read(partial(_in_flight, after)):
            after = page[-1].proposal_id
            made = {*self.world.background.calls.values(), *self.orphans}
            ours = (p for p in page if not _agents_own(p))
            self.lost.look(ours, made, moment.now_ms)
            late = (p for p in page if _agents_own(p) and reporting.is_overdue(moment, p))
            ids = [proposal.proposal_id for proposal in late]
            called += await self.world.many.write(ids, partial(_called_overdue, moment))
        self.orphans |= dict.fromkeys(self.lost.found(moment.now_ms), Orphaned.LOST)
        return called

    async def _recover_checks(self) -> int:
        moment = self.world.moment()
        page = await self.world.store.read(lambda tx: tx.proposals.unchecked(_PAGE))
        orphans = [
            p
            for p in page
            if p.proposal_id not in self.gatekeeper.gating
            and p.created_at_ms + _ORPHANED_MS <= moment.now_ms
        ]
        for proposal in orphans:
            self.world.background.spawn(self.gatekeeper.gate(proposal))
        return len(orphans)


def _nothing(tx: Transaction) -> None:
    """Write nothing; the answer says that what came before has been answered."""


def _agents_own(proposal: Proposal) -> bool:
    return proposal.execution is not None and proposal.execution.by_agent


def _in_flight(after: str, tx: Transaction) -> Sequence[Proposal]:
    return tx.proposals.in_flight(_PAGE, after)


def _called_overdue(moment: Moment, tx: Transaction, late: Sequence[str]) -> int:
    before = [tx.proposals.get(proposal_id) for proposal_id in late]
    after = [reporting.overdue(tx, moment, p) for p in before if p is not None]
    return sum(p.attention is not None for p in after)


def _recovered(
    tx: Transaction, moment: Moment, proposal_id: str, how: Orphaned
) -> Concluded | None:
    """Call again what is idempotent, under the same key; anything else is unknown.

    So is what somebody's ❌ was kept for: it is not done once more in order to be taken back. None
    where it cannot be done yet: everything is frozen, or a stop waits in the spool.
    """
    proposal = existing(tx, proposal_id)
    execution, tool = proposal.execution, moment.policy.tools.get(proposal.tool)
    if execution is None or execution.outcome is not Outcome.RUNNING:
        return Concluded(proposal)
    acts = execution.verb is not Verb.ROLL_BACK
    why = _not_again(tx, moment, proposal, how) if acts else None
    if why is not None:
        return Concluded(unknown(tx, moment, proposal, why))
    if tool is None or not tool.idempotent or execution.tries >= _TRIES:
        return Concluded(unknown(tx, moment, proposal, f"{how.value}."))
    still = stands_still(tx, moment, proposal)
    if acts and still is not None:
        return None
    claim: Claim = reclaim(tx, moment, proposal, CLOCK)
    return Concluded(claim.proposal, claim)


def _not_again(tx: Transaction, moment: Moment, proposal: Proposal, how: Orphaned) -> str | None:
    """Return for people why it is not called once more, whatever its tool; None where it may be."""
    if not _as_told(tx, proposal):
        why = "The stored row no longer fits what was approved, so it is not called again."
        tell_of_a_changed_row(tx, moment, proposal, why)
        return why
    against = _stands_against(moment, proposal)
    return None if against is None else f"{how.value}, and {against}."


def _as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Say whether its row is what was approved; where its trail cannot be read nobody says so, and
    it must not stand as running for good."""
    try:
        return stands_as_told(tx, proposal)
    except (RowUnreadable, ValueError, TypeError, KeyError):
        return False


def _stands_against(moment: Moment, proposal: Proposal) -> str | None:
    """Say what stands against one more call for good; None where nothing does."""
    if _judged_otherwise(moment, proposal):
        return "the policy is another one since"
    if proposal.kept_stop is not None:
        return f"{proposal.kept_stop.person} has stopped it"
    overdue = moment.heard.overdue(moment.now_ms, proposal.proposal_id)
    if not all(each.takes_back for each in overdue):
        return f"it waits for {HEARD}"
    return None


def _judged_otherwise(moment: Moment, proposal: Proposal) -> bool:
    """Say whether the tool, the rules or who may ask are not those that it began under."""
    return proposal.checked_policy_digest != moment.policy.digest
