"""A new policy, or new evidence, is put in force; then what is open is judged again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from lifecycle.announcing import announce
from lifecycle.calls.finishing import Concluded
from lifecycle.confirming import Membership
from lifecycle.door import record
from lifecycle.event_kinds import EventKind
from lifecycle.evidence import judged, unjudged
from lifecycle.fitting import fits_its_digest
from lifecycle.hands import Hands, take_hands
from lifecycle.judging.compared import Compared
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.judging.open_windows import rules_to_run
from lifecycle.judging.rechecking import JudgedAnew, recheck, recheck_by_evidence
from lifecycle.moment import Moment
from lifecycle.people.membership import of_approvers
from lifecycle.policy import Policy
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import EvidencePacket
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.text.masking import plain_words
from lifecycle.verdict import Verdict
from lifecycle.verdicts.fingerprints import (
    POLICY_FLAG,
    Fingerprints,
    forget_standings,
    in_force,
    keep_fingerprints,
    too_many_kept,
)
from lifecycle.verdicts.gathering import same_evidence
from lifecycle.verdicts.last_judged import awaits_answer, is_owed, policy_before
from lifecycle.world import Law, World

_PAGE = 200
_ALL = 100_000


@dataclass(frozen=True, slots=True)
class _Examined:
    """A proposal as it was judged outside of the unit that writes what follows from that."""

    proposal: Proposal
    policy: Policy
    checked: tuple[Facts, Verdict] | None
    there: Membership

    @property
    def verdict(self) -> Verdict | None:
        """What Sentinel said, None if no rule was asked."""
        return self.checked[1] if self.checked else None

    def still_holds(self, tx: Transaction, moment: Moment, fresh: Proposal) -> bool:
        """Return whether `fresh` still is what was judged: by a policy that is still in force, on
        the same evidence, with every approver asked for."""
        counts = fresh.state is State.SENTINEL_APPROVED
        unasked = counts and not self.there.covers(tx, fresh.proposal_id)
        moved = fresh.checked_policy_digest != self.proposal.checked_policy_digest or (
            self.checked is not None and not same_evidence(tx, fresh, self.checked[0])
        )
        # The verdict may be of a policy that was in force for a moment in between, and the store
        # may have taken a policy already that is not in force here yet.
        others = self.verdict is not None and self.verdict.policy_digest != self.policy.digest
        replaced = moment.policy.digest != self.policy.digest or not in_force(tx, moment)
        return not (replaced or others or unasked or moved)


@dataclass(slots=True)
class Adopter:
    """Brings open proposals under the policy in force and under the evidence on record.

    `judging` lets one re-check run at a time.
    """

    world: World
    gatekeeper: Gatekeeper
    compared: Compared = field(default_factory=Compared)
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def put_in_force(self, law: Law, swap: Callable[[], None]) -> None:
        """Put a law in force, audited and announced; nothing acts that was not judged by it."""
        hands = await self.take_policy(law, announced=True)
        self.world.law = law
        self.world.hands = hands.from_now(self.world.hands, self.world.clock.now_ms())
        swap()

    async def judge_open(self) -> None:
        """Judge again what is open, then forget former policies that are not needed any more."""
        with suppress(StoreUnavailable):  # the policy is in force; the job does the checks later
            await self.recheck()
            await self.forget_policies()

    async def forget_policies(self) -> None:
        """Forget the fingerprints of policies with which no later one will be compared."""
        if await self.world.store.read(too_many_kept):
            digest = self.world.law.policy.digest
            needed = await self.world.store.read(partial(_judged_under, digest))
            await self.world.write(lambda tx: forget_standings(tx, needed))

    async def take_over(self) -> None:
        """Write down, at the start, that the policy of this process is in force."""
        self.world.hands = await self.take_policy(self.world.law, announced=False)

    async def take_policy(self, law: Law, *, announced: bool) -> Hands:
        """Write to the store, once, that this policy is in force, with its fingerprints, and whose
        the accounts are from now on, which is returned.

        `announced` tells people in any case, else only if another policy was in force before.
        """
        policy, before_this = law.policy, self.world.law.policy

        def unit(tx: Transaction, moment: Moment) -> Hands:
            hands = take_hands(tx, before_this, policy, self.world.clock.now_ms())
            known = tx.flags.get(POLICY_FLAG)
            if known == policy.digest:
                return hands
            keep_fingerprints(tx, policy)
            taken = replace(moment, policy=policy)
            before = plain_words(known) if isinstance(known, str) else None  # anything may be there
            record(tx, taken, EventKind.POLICY_ADOPTED, None, details={"before": before})
            if announced or known is not None:
                words = f"A new policy is in force: {policy.digest}. What is open is checked again."
                announce(tx, taken, f"policy:{policy.digest}:{moment.now_ms}", words)
            return hands

        moment = self.world.moment()
        hands = await self.world.write(lambda tx: unit(tx, moment))
        self.compared.forget()
        return hands

    async def recheck(self) -> int:
        """Judge again what is open and was judged last under another policy; return how many it
        tried.

        What is left at a stop is judged at the next start, and nothing acts on it before. A second
        caller waits for the first, and then finds it done.
        """
        async with self.judging:
            return await self._rechecked()

    async def _rechecked(self) -> int:
        tried: set[str] = set()
        digest, count, stays = "", 0, 0
        while True:
            if digest != self.world.law.policy.digest:  # replaced meanwhile: begin anew
                tried, digest, stays = set(), self.world.law.policy.digest, 0
            # What was tried and stays in the list (its tool is at work) must not fill the page.
            limit = stays + _PAGE
            page = await self.world.store.read(partial(_under_other, digest, limit))
            fresh = [p for p in page if p.proposal_id not in tried]
            stays = len(page) - len(fresh)
            ready: list[str] = []
            for proposal in fresh:
                if self.world.ending:
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

        Returns True if it is approved under that policy and is to be begun now.
        """
        if awaits_answer(proposal) or proposal.expired(self.world.clock.now_ms()):
            return False  # judged once the answer is known; an expired one need not be judged
        of_another = policy_before(proposal) != self.world.law.policy.digest
        if of_another or not fits_its_digest(proposal):
            before = await self.compared.before(self.world.store, proposal)
            proposal = await self._recheck_policy(proposal, before)
        if is_owed(proposal):  # each policy must judge the evidence for itself
            proposal = await self._recheck_evidence(proposal)
        return _is_ready(proposal)

    async def _recheck_policy(self, proposal: Proposal, before: Fingerprints | None) -> Proposal:
        policy = self.world.law.policy
        after = self.compared.after(policy)
        rules = rules_to_run(proposal, before, after)
        subset = None if rules is None else frozenset(rules)
        checked = None
        if fits_its_digest(proposal):  # else somebody wrote there, and no rule is to read that
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
        """Try to begin these; if a ❌ may stand that nobody heard, the next round tries again.

        All are asked about together: one by one, a slow platform would take its time for each.
        """
        for each in await self.gatekeeper.heard_first.among(proposal_ids):
            if self.world.ending:
                return
            await self.world.many.beside(each, self.gatekeeper.open(each))

    async def _there(self, proposal: Proposal) -> Membership:
        """Ask for the membership of those who approved; nobody is counted anew in a window.

        Where nobody has opened it although enough approved, somebody could not be confirmed or had
        left: a chat that does not answer now lets no reload open it (ADR 0011).
        """
        if proposal.state is not State.SENTINEL_APPROVED:
            return Membership()
        opened = proposal.opener is not None
        return await of_approvers(self.world, proposal.proposal_id, only_certain=opened)

    async def evidence_changed(self, evidence_id: str) -> None:
        """Judge again what is open and names this evidence, and try what waited for it."""
        bound = await self.world.store.read(lambda tx: tx.proposals.bound_to(evidence_id, _ALL))
        ready: list[str] = []
        for proposal in bound:
            if proposal.state is State.PENDING:
                continue  # its first judging reads what is on record then
            checking = self._recheck_evidence(proposal)
            after = await self.world.many.beside(proposal.proposal_id, checking)
            if after is not None and _is_ready(after):
                ready.append(proposal.proposal_id)
        await self._begun_if_heard(ready)

    async def judge_evidence(self) -> int:
        """Judge again, once, by each packet that is recorded and not judged by; return how many."""
        waits = dict.fromkeys(await self.world.store.read(unjudged))
        for evidence_id in waits:
            packet = await self.world.store.read(partial(_packet, evidence_id))
            await self.evidence_changed(evidence_id)
            await self.world.write(partial(judged, evidence_id, packet))
        return len(waits)

    async def _recheck_evidence(self, proposal: Proposal) -> Proposal:
        """Judge it again by its evidence; if that fails in a window, mark it to be tried again."""
        if not fits_its_digest(proposal):
            return proposal  # it is rolled back when its window closes
        checking = self.gatekeeper.check_evidence(proposal)
        checked = await self.world.many.beside(proposal.proposal_id, checking)
        moment, verdict = self.world.moment(), checked[1] if checked else None

        def unit(tx: Transaction) -> Concluded:
            fresh = tx.proposals.get(proposal.proposal_id)
            if fresh is None or (checked and not same_evidence(tx, fresh, checked[0])):
                return Concluded(fresh or proposal)  # a newer packet came, and it is judged by that
            return recheck_by_evidence(tx, moment, fresh, verdict)

        concluded = await self.world.write(unit)
        self._carry(concluded)
        return concluded.proposal

    def _carry(self, concluded: Concluded) -> None:
        self.gatekeeper.carrier.carry_claim(concluded.claim)


def _is_ready(proposal: Proposal) -> bool:
    """Return whether the bot is to begin it; one with a permit is begun by its agent."""
    waits = proposal.state is State.SENTINEL_APPROVED and proposal.opener is not None
    return waits and not proposal.permit_waits


def _packet(evidence_id: str, tx: Transaction) -> EvidencePacket | None:
    return tx.evidence.get(evidence_id)


def _judged_under(digest: str, tx: Transaction) -> frozenset[str]:
    """Return the other policies under which something open was judged last."""
    return frozenset(map(policy_before, _under_other(digest, _ALL, tx)))


def _under_other(digest: str, limit: int, tx: Transaction) -> Sequence[Proposal]:
    return tx.proposals.checked_under_other(digest, limit)
