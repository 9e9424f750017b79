"""Brings proposals from pending to executing: asks Sentinel, and begins while the verdict holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from lifecycle.calls.carrying import Carrier
from lifecycle.changed_rows import digest_mismatch
from lifecycle.confirming import Membership
from lifecycle.document import ProposalDocument
from lifecycle.existing import existing
from lifecycle.fitting import fits_its_digest
from lifecycle.judging.rechecking import stands_anew
from lifecycle.located import located
from lifecycle.moment import Moment
from lifecycle.opening import Opening, begin, of_this_policy
from lifecycle.people.membership import Confirmed, of_approvers
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.stops.heard_first import HeardFirst
from lifecycle.tier import Tier
from lifecycle.verdict import Verdict
from lifecycle.verdicts.fingerprints import in_force
from lifecycle.verdicts.gathering import as_recorded, gather, same_evidence
from lifecycle.verdicts.judge import judge
from lifecycle.verdicts.last_judged import BY_EVIDENCE
from lifecycle.world import World

_FRESH_CHECKS = 5

#: A proposal, and the facts for its last check if it waits to begin.
Look = tuple[Proposal | None, Facts | None]


class NotAtOnce(Exception):
    """What should have followed in the same unit failed; the caller runs the unit without it."""


@dataclass(slots=True)
class Gatekeeper:
    """Brings proposals from pending to executing; `gating` are the ids being judged right now."""

    world: World
    carrier: Carrier
    gating: set[str] = field(default_factory=set)
    heard_first: HeardFirst = field(init=False)
    confirmed: Confirmed = field(init=False)

    def __post_init__(self) -> None:
        """Set up `heard_first` and `confirmed`, with nothing asked of the surfaces yet."""
        self.heard_first, self.confirmed = HeardFirst(self.world), Confirmed(self.world)

    async def gate(
        self, proposal: Proposal, facts: Facts | None = None, *, answering: bool = False
    ) -> Proposal:
        """Let Sentinel judge a pending proposal, and begin it if its tier says so.

        Return it as it stands then; for AUTO and AUTO+ that is after the call has ended.
        """
        self.gating.add(proposal.proposal_id)
        try:
            opening = await self._judged(proposal, facts, answering=answering)
        finally:
            self.gating.discard(proposal.proposal_id)
        return await self.follow_judged(opening)

    async def follow_judged(self, opening: Opening) -> Proposal:
        """Make the call that a verdict led to; for AUTO and AUTO+ wait for its end."""
        wait = opening.proposal.tier in (Tier.AUTO, Tier.AUTO_PLUS)
        return await self.follow(opening, wait=wait)

    def judge_at_once(
        self, tx: Transaction, moment: Moment, proposal: Proposal, facts: Facts
    ) -> Opening | None:
        """Judge and begin within the unit that admits; None if the rules need a thread (ADR 0010).

        Like all of a unit it runs on the writer's thread with SQLite. Raises NotAtOnce if anything
        fails: what was admitted must not be undone with it.
        """
        try:
            verdict = self._verdict_at_once(moment, proposal, facts)
            if verdict is None:
                return None
            checked, nobody = (facts, verdict), Membership()
            opening = _judged_and_begun(moment, proposal.proposal_id, checked, nobody, tx)
            tx.write_down()
        except Exception as error:
            raise NotAtOnce(located(error)) from error
        return None if opening.again else opening

    def open_at_once(self, tx: Transaction, look: Look) -> Opening | None:
        """Begin within the unit that approves; None if that is left to `open`.

        Like all of a unit it runs on the writer's thread with SQLite. Raises NotAtOnce if anything
        fails: the approval must not be undone with it.
        """
        proposal, facts = look
        if proposal is None or facts is None:
            return None
        moment = self.world.moment()
        try:
            verdict = self._verdict_at_once(moment, proposal, facts)
            if verdict is None:
                return None
            opening = begin(tx, moment, proposal, verdict, facts)
            tx.write_down()
        except Exception as error:
            raise NotAtOnce(located(error)) from error
        return None if opening.again else opening

    def _verdict_at_once(self, moment: Moment, proposal: Proposal, facts: Facts) -> Verdict | None:
        law = self.world.law
        same_tool = facts.tool is moment.policy.tools.get(proposal.tool)
        if law.policy is not moment.policy or not same_tool:
            return None
        return law.sentinel.check_at_once(
            proposal.read(),
            facts,
            policy_digest=law.policy.digest,
            size_bytes=len(proposal.document),
        )

    async def open(self, proposal_id: str, look: Look | None = None) -> Proposal | None:
        """Try to begin a proposal that has an opener; its call goes on in the background.

        `look` is what somebody saw just now, in a unit of their own; it stands for the first look
        only. Return the proposal as it stands then, None if no proposal has this id.
        """
        proposal, there = None, None
        for _ in range(_FRESH_CHECKS):
            if look is None:
                look = await self.world.store.read(partial(self._looked_up, proposal_id))
            (proposal, facts), look = look, None
            if proposal is not None and _is_unfit(proposal):
                return await self._ended_unfit(proposal_id)
            if proposal is None or facts is None:
                return proposal
            verdict = await self._verdict(proposal, facts)
            moment = self.world.moment()
            begun = partial(_begun, moment, proposal_id, verdict, facts, there)
            opening = await self.world.write(begun)
            if not opening.again:
                return await self.follow(opening, wait=False)
            if opening.unconfirmed:
                there = await self.confirmed.approvers_of(proposal_id)
        return proposal

    def _looked_up(self, proposal_id: str, tx: Transaction) -> Look:
        return self.look(tx, tx.proposals.get(proposal_id))

    def look(self, tx: Transaction, proposal: Proposal | None) -> Look:
        """Return a proposal, and the facts about it if it waits to begin and can be judged."""
        if proposal is None or not _waits_to_begin(proposal):
            return proposal, None
        moment = self.world.moment()
        tool = moment.policy.tools.get(proposal.tool)
        if tool is None or not fits_its_digest(proposal):
            return proposal, None
        return proposal, self.facts(tx, moment, proposal, tool, executing=True)

    async def check(
        self, proposal: Proposal, *, executing: bool, subset: frozenset[str] | None = None
    ) -> tuple[Facts, Verdict] | None:
        """Gather facts and run the rules now, all or a `subset`; None if the tool is not configured
        any more, or the document was masked."""
        facts = await self._facts_now(proposal, executing=executing)
        return (facts, await self._verdict(proposal, facts, subset)) if facts else None

    async def check_evidence(self, proposal: Proposal) -> tuple[Facts, Verdict] | None:
        """Run the rules about evidence, each packet as of when it was recorded; None as `check`."""
        facts = await self._facts_now(proposal, executing=False)
        if facts is None:
            return None
        return facts, await self._verdict(proposal, as_recorded(facts), BY_EVIDENCE)

    async def _facts_now(self, proposal: Proposal, *, executing: bool) -> Facts | None:
        tool = self.world.law.policy.tools.get(proposal.tool)
        if tool is None or proposal.masked:
            return None
        moment = self.world.moment()
        gathered = partial(self.facts, moment=moment, proposal=proposal, tool=tool)
        return await self.world.store.read(partial(gathered, executing=executing))

    def facts(
        self,
        tx: Transaction,
        moment: Moment,
        proposal: Proposal,
        tool: ToolPolicy,
        *,
        executing: bool,
    ) -> Facts:
        """Gather what the rules may know, within a unit or a view."""
        real_path, started_in = self.world.toolbox.real_path, self.world.started_in()
        return gather(
            tx, moment, proposal, tool, real_path, executing=executing, started_in=started_in
        )

    async def _verdict(
        self, proposal: Proposal, facts: Facts, subset: frozenset[str] | None = None
    ) -> Verdict:
        law = self.world.law
        # The rules are given a document of their own, so that none can change what others read.
        document = ProposalDocument.of_bytes(proposal.document)
        return await law.sentinel.check(
            document, facts, policy_digest=law.policy.digest, subset=subset
        )

    async def _judged(self, proposal: Proposal, facts: Facts | None, *, answering: bool) -> Opening:
        """Judge, at most five times, until the verdict still holds in the unit that writes it."""
        opening = Opening(proposal)
        for _ in range(_FRESH_CHECKS):
            if _is_unfit(proposal):
                return Opening(await self._ended_unfit(proposal.proposal_id))
            checked = await self._verdict_on(proposal, facts)
            if checked is None:
                return opening
            there = await of_approvers(self.world, proposal.proposal_id)
            moment = self.world.moment(answering=answering)
            unit = partial(_judged_and_begun, moment, proposal.proposal_id, checked, there)
            opening = await self.world.write(unit)
            if not opening.again:
                return opening
            facts, proposal = None, opening.proposal
        return opening

    async def _ended_unfit(self, proposal_id: str) -> Proposal:
        """End a proposal whose row was changed behind our back, before any rule reads it."""
        moment = self.world.moment()

        def unit(tx: Transaction) -> Proposal:
            fresh = existing(tx, proposal_id)
            return digest_mismatch(tx, moment, fresh) if _is_unfit(fresh) else fresh

        return await self.world.write(unit)

    async def _verdict_on(
        self, proposal: Proposal, facts: Facts | None
    ) -> tuple[Facts, Verdict] | None:
        if facts is None:
            return await self.check(proposal, executing=True)
        return facts, await self._verdict(proposal, facts)

    async def follow(self, opening: Opening, *, wait: bool) -> Proposal:
        """Make the call that an opening leads to; with `wait`, return when the call has ended."""
        if opening.token is None:
            return opening.proposal
        task = self.carrier.carry(opening.proposal, opening.token, answering=wait)
        return await task if wait else opening.proposal


def _waits_to_begin(proposal: Proposal) -> bool:
    return proposal.state is State.SENTINEL_APPROVED and proposal.opener is not None


def _is_unfit(proposal: Proposal) -> bool:
    """Return whether it waits to be judged or to begin, and its row was changed behind our back:
    what is blocked ends in the unit that stores it."""
    waits = proposal.state is State.PENDING or _waits_to_begin(proposal)
    return waits and (proposal.tier is Tier.BLOCK or not fits_its_digest(proposal))


def _begun(
    moment: Moment,
    proposal_id: str,
    verdict: Verdict,
    facts: Facts,
    there: Membership | None,
    tx: Transaction,
) -> Opening:
    fresh = existing(tx, proposal_id)
    return begin(tx, moment, fresh, verdict, facts, there)


def _judged_and_begun(
    moment: Moment,
    proposal_id: str,
    checked: tuple[Facts, Verdict],
    there: Membership,
    tx: Transaction,
) -> Opening:
    fresh = existing(tx, proposal_id)
    facts, verdict = checked
    timely = of_this_policy(moment, fresh, verdict, facts) and there.covers(tx, proposal_id)
    if fresh.state is State.PENDING and not (timely and same_evidence(tx, fresh, facts)):
        return Opening(fresh, again=True)
    stands = stands_anew(tx, moment, fresh) if in_force(tx, moment) else fresh
    if stands is not fresh:  # a new policy changed the row: the rules were told of another
        return Opening(stands, again=stands.state is State.PENDING)
    judged = judge(tx, moment, fresh, verdict, there.lost)
    opening = begin(tx, moment, judged, verdict, facts, there)
    # If begin failed, the opening job tries again; the verdict is written and must stay.
    return replace(opening, again=False) if opening.again else opening
