"""Take up what nobody works on any more: stops on disk, interrupted calls, abandoned checks.

Most of it was left by a process that ended. A job calls `Recoverer.recover` regularly, since calls
of this process can be lost too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import itemgetter

from lifecycle.agents import reporting
from lifecycle.agreeing.rows import called_under, stands_as_told
from lifecycle.calls.claiming import reclaim
from lifecycle.calls.finishing import Concluded, claimed
from lifecycle.calls.mishaps import unknown
from lifecycle.changed_rows import tell_of_a_changed_row
from lifecycle.clockwork.lost_calls import LostCalls
from lifecycle.existing import existing
from lifecycle.freezing import stands_still
from lifecycle.heard import HEARD, placed
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.moment import Moment
from lifecycle.ports import RowUnreadable, Transaction
from lifecycle.proposal import CLOCK, Outcome, Proposal, Verb
from lifecycle.verdicts.last_judged import judged_under
from lifecycle.world import World

_PAGE = 200
_ORPHANED_MS = 5_000
#: After crashes a tool marked idempotent is called under the same key three times at most in all.
_TRIES = 3


class Orphaned(Enum):
    """Why nobody makes a call any more, in words for people."""

    ENDED = "The process ended while the tool was running"
    LOST = "Signoff has lost sight of this call, and cannot say whether it was made"


@dataclass(slots=True)
class Recoverer:
    """Takes up the calls and checks that nobody makes any more.

    `orphans` are these calls, by the ids of their proposals.
    """

    world: World
    gatekeeper: Gatekeeper
    orphans: dict[str, Orphaned] = field(default_factory=dict)
    lost: LostCalls = field(default_factory=LostCalls)

    async def find_orphans(self) -> None:
        """Find the calls that a former process did not see the end of; runs before any call of this
        one.

        Later on a running call has its task in this process, unless it is lost (`LostCalls`).
        """
        after = ""
        while True:
            page = await self.world.store.read(partial(_in_flight, after))
            self.orphans |= {p.proposal_id: Orphaned.ENDED for p in page if not _agents_own(p)}
            if not page:  # a short page need not be the last: unreadable rows are left out
                return
            after = page[-1].proposal_id

    async def recover(self) -> int:
        """Take up orphaned calls and checks, and call people to agents that never reported."""
        await self._place_stops()
        taken = 0
        for proposal_id, how in sorted(self.orphans.items(), key=itemgetter(0)):
            done = await self.world.many.beside(proposal_id, self._recover_call(proposal_id, how))
            taken += done or False
        return taken + await self._look_at_calls() + await self._recover_checks()

    async def _place_stops(self) -> None:
        """Find out what a stop is about whose message was no known card when it came, and is one by
        now.

        Only a stop that is known to be about a proposal calls people when nobody can process it,
        and only of such a stop can a person let go.
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
        """Return True if a call that counts as lost is made after all, or may be in a moment.

        The store may have been stuck after others could see the intent and before it answered the
        writer. The answer to that comes before the answer to an empty write made now. Whoever waits
        for it then calls at once, or first looks whether the store takes everything again
        (`looking`).
        """
        await self.world.store.write(_nothing)
        if proposal_id in self.world.background.calls.values():
            self.orphans.pop(proposal_id, None)
            return True
        return self.world.troubles.unwritten.looking

    async def _look_at_calls(self) -> int:
        """Call people to agents that never reported, and find calls of ours that are lost.

        Return how many agents' calls people were called to.
        """
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
    """Write nothing: the answer shows that all earlier units have been answered."""


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
    """Call an idempotent tool again under the same key; make the outcome of any other call unknown.

    A call for which somebody's ❌ was kept becomes unknown, too: it is not made once more just to
    be taken back. None if it cannot be done yet, since everything is frozen or a stop waits.
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
    return claimed(reclaim(tx, moment, proposal, CLOCK))


def _not_again(tx: Transaction, moment: Moment, proposal: Proposal, how: Orphaned) -> str | None:
    """Return words why no tool may be called once more for this; None if it may."""
    if not _as_told(tx, proposal):
        why = "The stored row no longer fits what was approved, so it is not called again."
        tell_of_a_changed_row(tx, moment, proposal, why)
        return why
    against = _stands_against(tx, moment, proposal)
    return None if against is None else f"{how.value}, and {against}."


def _as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Return True if the row is as the trail tells.

    A trail that cannot be read returns False: nobody knows, and the row must not be running for
    ever.
    """
    try:
        return stands_as_told(tx, proposal)
    except (RowUnreadable, ValueError, TypeError, KeyError):
        return False


def _stands_against(tx: Transaction, moment: Moment, proposal: Proposal) -> str | None:
    """Return what forbids one more call for good, in words; None if nothing does.

    A call that a person had made again is of the policy of then, while the row, whose outcome was
    not known, may still name an earlier one that is in force once more.
    """
    claimed = called_under(tx, proposal) == moment.policy.digest
    if not (claimed and judged_under(moment.policy, proposal)):
        return "the policy is another one since"
    if proposal.kept_stop is not None:
        return f"{proposal.kept_stop.person} has stopped it"
    overdue = moment.heard.overdue(moment.now_ms, proposal.proposal_id)
    if not all(each.takes_back for each in overdue):
        return f"it waits for {HEARD}"
    return None
