"""A new policy, or new evidence: put in force, then what is open is judged again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from lifecycle.announcing import announce
from lifecycle.calls.finishing import Concluded
from lifecycle.compared import Compared
from lifecycle.door import record
from lifecycle.evidence import judged, unjudged
from lifecycle.fingerprints import (
    POLICY_FLAG,
    Fingerprints,
    forget_standings,
    in_force,
    keep_fingerprints,
    too_many_kept,
)
from lifecycle.fitting import fits_its_digest
from lifecycle.gathering import same_evidence
from lifecycle.gating import Gatekeeper
from lifecycle.last_judged import awaits_answer, is_owed, policy_before
from lifecycle.moment import Moment
from lifecycle.open_windows import rules_to_run
from lifecycle.people.membership import Membership, of_approvers
from lifecycle.policy import Policy
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.rechecking import JudgedAnew, recheck, recheck_by_evidence
from lifecycle.records import EvidencePacket
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.text.masking import plain_words
from lifecycle.verdict import Verdict
from lifecycle.world import Law, World

_PAGE = 200
_ALL = 100_000


@dataclass(frozen=True, slots=True)
class _Examined:
    """A proposal as it was judged under a policy, outside of the unit that writes what follows."""

    proposal: Proposal
    policy: Policy
    checked: tuple[Facts, Verdict] | None
    there: Membership

    @property
    def verdict(self) -> Verdict | None:
        """What Sentinel said, None where no rule was asked."""
        return self.checked[1] if self.checked else None

    def still_holds(self, tx: Transaction, moment: Moment, fresh: Proposal) -> bool:
        """Say whether what stands now is what was looked at, by a policy that is still in force."""
        counts = fresh.state is State.SENTINEL_APPROVED
        unasked = counts and not self.there.covers(tx, fresh.proposal_id)
        moved = fresh.checked_policy_digest != self.proposal.checked_policy_digest or (
            self.checked is not None and not same_evidence(tx, fresh, self.checked[0])
        )
        # One that was in force for a moment in between may have judged it, and one may have been
        # taken that is not in force here yet.
        others = self.verdict is not None and self.verdict.policy_digest != self.policy.digest
        replaced = moment.policy.digest != self.policy.digest or not in_force(tx, moment)
        return not (replaced or others or unasked or moved)


@dataclass(slots=True)
class Adopter:
    """Brings open proposals under the policy and the evidence that are in force now."""

    world: World
    gatekeeper: Gatekeeper
    compared: Compared = field(default_factory=Compared)
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def put_in_force(self, law: Law, swap: Callable[[], None]) -> None:
        """Let a new law hold, audited and announced; nothing acts that was not judged by it."""
        await self.take_policy(law, announced=True)
        self.world.law = law
        swap()

    async def judge_open(self) -> None:
        """Judge again what is open, and keep no more of former policies than is needed then."""
        with suppress(StoreUnavailable):  # it is in force; the job goes on with the checks
            await self.recheck()
            await self.forget_policies()

    async def forget_policies(self) -> None:
        """Keep nothing of policies with which no later one is compared."""
        if await self.world.store.read(too_many_kept):
            digest = self.world.law.policy.digest
            needed = await self.world.store.read(partial(_judged_under, digest))
            await self.world.write(lambda tx: forget_standings(tx, needed))

    async def take_policy(self, law: Law, *, announced: bool) -> None:
        """Note the policy in the store, once, with what a later one is compared with."""
        policy = law.policy

        def unit(tx: Transaction, moment: Moment) -> None:
            known = tx.flags.get(POLICY_FLAG)
            if known == policy.digest:
                return
            keep_fingerprints(tx, policy)
            taken = replace(moment, policy=policy)
            before = plain_words(known) if isinstance(known, str) else None  # else no digest
            record(tx, taken, "policy_adopted", None, details={"before": before})
            if announced or known is not None:
                words = f"A new policy is in force: {policy.digest}. What is open is checked again."
                announce(tx, taken, f"policy:{policy.digest}:{moment.now_ms}", words)

        moment = self.world.moment()
        await self.world.write(lambda tx: unit(tx, moment))
        self.compared.forget()

    async def recheck(self) -> int:
        """Judge again what is open and was last judged under another policy.

        What is left at a stop the next start comes to: nothing acts on it before. Who asks while
        another does waits, and finds done what that one did.
        """
        async with self.judging:
            return await self._rechecked()

    async def _rechecked(self) -> int:
        tried: set[str] = set()
        digest, count, stays = "", 0, 0
        while True:
            if digest != self.world.law.policy.digest:  # by which nothing was judged yet
                tried, digest, stays = set(), self.world.law.policy.digest, 0
            # What was tried and stays, since its tool is at work, hides nothing behind it.
            limit = stays + _PAGE
            page = await self.world.store.read(partial(_under_other, digest, limit))
            fresh = [p for p in page if p.proposal_id not in tried]
            stays = len(page) - len(fresh)
            ready: list[str] = []
            for proposal in fresh:
                if self.world.stopping:
                    return count
                tried.add(proposal.proposal_id)
                count += 1
                if await self.world.many.beside(proposal.proposal_id, self.recheck_one(proposal)):
                    ready.append(proposal.proposal_id)
            await self._begun_if_heard(ready)
            if not fresh and len(page) < limit:
                return count

    async def recheck_one(self, proposal: Proposal) -> bool:
        """Bring one open proposal under the policy in force, and under evidence that is owed.

        True where it is approved under that policy and is to be tried now.
        """
        if awaits_answer(proposal) or proposal.expired(self.world.clock.now_ms()):
            return False  # asked again once the answer is known; or nothing comes of it any more
        of_another = policy_before(proposal) != self.world.law.policy.digest
        if of_another or not fits_its_digest(proposal):
            before = await self.compared.before(self.world.store, proposal)
            proposal = await self._recheck_policy(proposal, before)
        if is_owed(proposal):  # what one policy says of its evidence pays for no other
            proposal = await self._recheck_evidence(proposal)
        return _is_ready(proposal)

    async def _recheck_policy(self, proposal: Proposal, before: Fingerprints | None) -> Proposal:
        policy = self.world.law.policy
        after = self.compared.after(policy)
        rules = rules_to_run(proposal, before, after)
        subset = None if rules is None else frozenset(rules)
        checked = None
        if fits_its_digest(proposal):  # else no rule reads what somebody wrote there
            checked = await self.gatekeeper.check(proposal, executing=False, subset=subset)
        examined = _Examined(proposal, policy, checked, await self._there(proposal))
        anew = JudgedAnew(examined.verdict, before, after, examined.there.lost)
        moment = self.world.moment()

        def unit(tx: Transaction) -> Concluded:
            fresh = tx.proposals.get(proposal.proposal_id)
            if fresh is None:
                return Concluded(proposal)
            if not examined.still_holds(tx, moment, fresh):
                return Concluded(fresh)  # the next round judges anew
            return recheck(tx, moment, fresh, anew)

        concluded = await self.world.write(unit)
        self._carry(concluded)
        return concluded.proposal

    async def _begun_if_heard(self, proposal_ids: Sequence[str]) -> None:
        """Try to begin these; where a ❌ may stand that nobody heard, that is for the next round.

        All at once: a platform that takes its time would take it for each of them else.
        """
        for each in await self.gatekeeper.heard_first.among(proposal_ids):
            if self.world.stopping:
                return
            await self.world.many.beside(each, self.gatekeeper.open(each))

    async def _there(self, proposal: Proposal) -> Membership:
        """Ask for those who approved where they are counted anew; in a window nobody is."""
        if proposal.state is not State.SENTINEL_APPROVED:
            return Membership()
        return await of_approvers(self.world, proposal.proposal_id)

    async def evidence_changed(self, evidence_id: str) -> int:
        """Judge again what is open and rests on this evidence, and try what waited for it."""
        bound = await self.world.store.read(lambda tx: tx.proposals.bound_to(evidence_id, _ALL))
        ready: list[str] = []
        for proposal in bound:
            if proposal.state is State.PENDING:
                continue  # judged by what is on record then
            checking = self._recheck_evidence(proposal)
            after = await self.world.many.beside(proposal.proposal_id, checking)
            if after is not None and _is_ready(after):
                ready.append(proposal.proposal_id)
        await self._begun_if_heard(ready)
        return len(bound)

    async def judge_evidence(self) -> int:
        """Judge again by every packet that was recorded and not yet judged by, once."""
        waits = dict.fromkeys(await self.world.store.read(unjudged))
        for evidence_id in waits:
            packet = await self.world.store.read(partial(_packet, evidence_id))
            await self.evidence_changed(evidence_id)
            await self.world.write(partial(judged, evidence_id, packet))
        return len(waits)

    async def _recheck_evidence(self, proposal: Proposal) -> Proposal:
        """Judge it again; what is under way, where that fails, at each round until it is."""
        if not fits_its_digest(proposal):
            return proposal  # taken back when its window closes
        checking = self.gatekeeper.check_evidence(proposal)
        checked = await self.world.many.beside(proposal.proposal_id, checking)
        moment, verdict = self.world.moment(), checked[1] if checked else None

        def unit(tx: Transaction) -> Concluded:
            fresh = tx.proposals.get(proposal.proposal_id)
            if fresh is None or (checked and not same_evidence(tx, fresh, checked[0])):
                return Concluded(fresh or proposal)  # judged again by the packet that came since
            return recheck_by_evidence(tx, moment, fresh, verdict)

        concluded = await self.world.write(unit)
        self._carry(concluded)
        return concluded.proposal

    def _carry(self, concluded: Concluded) -> None:
        self.gatekeeper.carrier.carry_claim(concluded.claim)


def _is_ready(proposal: Proposal) -> bool:
    """Say whether we begin it; one with a permit its agent begins."""
    waits = proposal.state is State.SENTINEL_APPROVED and proposal.opener is not None
    return waits and not proposal.permit_waits


def _packet(evidence_id: str, tx: Transaction) -> EvidencePacket | None:
    return tx.evidence.get(evidence_id)


def _judged_under(digest: str, tx: Transaction) -> frozenset[str]:
    """Return the other policies under which something open was last judged."""
    return frozenset(map(policy_before, _under_other(digest, _ALL, tx)))


def _under_other(digest: str, limit: int, tx: Transaction) -> Sequence[Proposal]:
    return tx.proposals.checked_under_other(digest, limit)
