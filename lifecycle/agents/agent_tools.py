"""Let an agent redeem its permit: the first half of a tool of kind `agent` (section 7).

The agent presents the permit and the parameters, and execution begins. `reporting.py` is the second
half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifecycle import permit as permits
from lifecycle.agents.redemption import approved_parameters, verify_parameters
from lifecycle.agents.refusing import claimed_id, note_refused
from lifecycle.agreeing.opened import stands_as_opened
from lifecycle.agreeing.rows import may_begin_as_told
from lifecycle.answers import Reply, Sender
from lifecycle.canonical import canonical_bytes
from lifecycle.changed_rows import digest_mismatch
from lifecycle.confirming import Membership, still_approved
from lifecycle.errors import GovernanceError, PermitRefused
from lifecycle.expiry import expire
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import FROZEN, stands_still
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.judging.open_windows import was_late
from lifecycle.moment import Moment
from lifecycle.opening import ask_people, start_execution, still_true
from lifecycle.people.acts import decided_words
from lifecycle.policy import ToolKind
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.records import PermitRecord
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.verdict import Verdict
from lifecycle.verdicts.findings import LATE, newly_soft, waits_for_rule
from lifecycle.verdicts.judge import reject_by_sentinel

_FRESH_CHECKS = 5
_UNFINISHED = (
    "Sentinel was not done in time with what was presented, so nothing begins. Redeem the permit "
    "again later; it stays good until it expires."
)
_UNAVAILABLE = "The audit trail cannot be written, so nothing begins; try again later."
_LEFT = (
    "Somebody who approved it has left since, so that people are asked again; the permit is taken "
    "back."
)


@dataclass(frozen=True, slots=True)
class Redemption:
    """What is presented with a permit, and by whom; `proposal_id` and `along` as in
    Workflow.redeem."""

    parameters: Any
    sender: Sender
    proposal_id: str | None = None
    along: Callable[[Transaction], None] | None = None


async def redeem(gatekeeper: Gatekeeper, token: str, asked: Redemption) -> Reply:
    """Use up a permit with exactly the approved parameters; execution begins here.

    The cards are read before, for a ❌ that was given after the permit and that nobody heard. A
    repeat with the same parameters is answered `permit_already_consumed`, with the proposal as it
    stands. Refusals and a store that fails become replies.
    """
    world, parameters, sender = gatekeeper.world, asked.parameters, asked.sender
    try:
        permit = permits.read(token, world.ring)
        if asked.proposal_id not in (None, permit.proposal_id):
            raise PermitRefused("permit_mismatch", "This permit is of another proposal.")
        proposal = await world.store.read(lambda tx: tx.proposals.get(permit.proposal_id))
        if proposal is None:
            raise PermitRefused("proposal_not_found", "No proposal belongs to this permit.")
        if proposal.state is State.SENTINEL_APPROVED and sender.identity == proposal.actor:
            await gatekeeper.heard_first.in_time(permit.proposal_id)
        there = None
        for _ in range(_FRESH_CHECKS):
            checked = await _judged(gatekeeper, proposal, parameters)
            unit = partial(_redeemed, world.moment(), permit, asked, checked, there)
            reply = await world.write(unit)
            if reply is not None:
                return reply
            there = await gatekeeper.confirmed.approvers_of(permit.proposal_id)
        raise PermitRefused("still_running", "What it is judged by keeps changing; try again.")
    except GovernanceError as error:
        await note_refused(world, sender, error.code, claimed_id(token, world.ring))
        return Reply.of_error(error)
    except StoreUnavailable:
        return Reply(_UNAVAILABLE, "audit_unavailable")


async def _judged(
    gatekeeper: Gatekeeper, proposal: Proposal, parameters: Any
) -> tuple[Facts, Verdict] | None:
    """Return the verdict on what will really be done: digests are replaced by the presented texts.

    None if there is nothing to judge. Raises PermitRefused if the parameters are not the approved
    ones.
    """
    waits = proposal.state is State.SENTINEL_APPROVED and fits_its_digest(proposal)
    if not waits or not isinstance(parameters, dict):
        return None
    verify_parameters(parameters, approved_parameters(proposal.r3_document, proposal.r3_s256))
    actual = proposal.read().model_copy(update={"parameters": parameters})
    # In the form in which it was judged before: 100.0 is the 100 that people approved.
    document = canonical_bytes(actual.model_dump(mode="json", exclude_unset=True))
    shown = replace(proposal, document=document)
    return await gatekeeper.check(shown, executing=True)


def _redeemed(
    moment: Moment,
    permit: permits.Permit,
    asked: Redemption,
    checked: tuple[Facts, Verdict] | None,
    there: Membership | None,
    tx: Transaction,
) -> Reply | None:
    """Begin, or return why not.

    None if policy or evidence has changed, so that it must be judged again, or if it must be asked
    who of those who approved is `there` still. Raises PermitRefused.
    """
    proposal = tx.proposals.get(permit.proposal_id)
    if proposal is None or not is_its_agent(moment, proposal, asked.sender):
        raise PermitRefused("permit_mismatch", "This permit was given to somebody else.")
    kept = tx.permits.get(permit.permit_id)
    if kept is None:
        raise PermitRefused("permit_signature_invalid", "This permit was never issued here.")
    if proposal.state is State.SENTINEL_APPROVED and not _as_permitted(permit, proposal):
        return _changed(tx, moment, proposal)
    _still_good(kept, proposal)
    approved = approved_parameters(proposal.r3_document, proposal.r3_s256)
    verify_parameters(asked.parameters, approved)
    if proposal.expired(moment.now_ms):
        expire(tx, moment, proposal)
        return Reply("The permit was not redeemed in time.", "permit_expired", proposal.proposal_id)
    reply = _begun(tx, moment, permit, proposal, checked, there)
    if asked.along is not None and reply is not None and reply.done:
        asked.along(tx)
    return reply


def is_its_agent(moment: Moment, proposal: Proposal, sender: Sender) -> bool:
    """Return True if the sender is the proposer, by an identity of the policy in force."""
    return sender.identity == proposal.actor and sender.is_known_to(moment.policy)


def _as_permitted(permit: permits.Permit, proposal: Proposal) -> bool:
    """Return True if the row is what was proposed, with the R3 document that the permit is bound
    to.

    Somebody who exchanges that document can make its hash in the row fit; the hash in the permit is
    signed.
    """
    return fits_its_digest(proposal) and permit.r3_s256 == proposal.r3_s256


def _changed(tx: Transaction, moment: Moment, proposal: Proposal) -> Reply:
    ended = digest_mismatch(tx, moment, proposal)
    return Reply(ended.explanation, "digest_mismatch", ended.proposal_id, ended.state.value)


def _still_good(kept: PermitRecord, proposal: Proposal) -> None:
    """Raise PermitRefused if this permit cannot begin anything any more, and say why."""
    if proposal.state is State.SENTINEL_APPROVED:
        if kept.consumed_at_ms is None:
            return
        words = "This permit was taken back or replaced. Read the proposal: a new one may wait."
        raise PermitRefused("permit_mismatch", words)
    if proposal.execution is not None:
        words = f"This permit was used up; the proposal is {proposal.state}. It is never run again."
        raise PermitRefused("permit_already_consumed", words)
    late = proposal.reason in ("permit_expired", "expired")
    raise PermitRefused("permit_expired" if late else "already_decided", decided_words(proposal))


def _begun(
    tx: Transaction,
    moment: Moment,
    permit: permits.Permit,
    proposal: Proposal,
    checked: tuple[Facts, Verdict] | None,
    there: Membership | None,
) -> Reply | None:
    _fits_still(moment, permit, proposal)
    still = stands_still(tx, moment, proposal)
    if still is not None:
        words = f"It waits for: {_told(still)}. Redeem the permit again after that."
        return Reply(words, FROZEN, proposal.proposal_id)
    if checked is None:
        raise PermitRefused("permit_mismatch", "The permit does not fit the proposal any more.")
    facts, verdict = checked
    if not still_true(tx, moment, proposal, verdict, facts):
        return None
    if not stands_as_opened(tx, moment, proposal):
        return _changed(tx, moment, proposal)
    objection = _objection(tx, moment, proposal, verdict)
    if objection is not None:
        return objection
    return _started(tx, moment, permit, proposal, there)


def _started(
    tx: Transaction,
    moment: Moment,
    permit: permits.Permit,
    proposal: Proposal,
    there: Membership | None,
) -> Reply | None:
    """Begin what nothing speaks against. The trail, which may be long, is compared last."""
    approved = still_approved(tx, moment, proposal, there)
    if approved is None:
        return None
    if approved.opener is None:
        return Reply(_LEFT, "permit_mismatch", approved.proposal_id, approved.state.value)
    if not may_begin_as_told(tx, approved):
        return _changed(tx, moment, approved)
    tx.permits.consume(permit.permit_id, moment.now_ms)
    tool = moment.policy.tools[proposal.tool]
    begun = start_execution(tx, moment, approved, tool, token="redeemed").proposal  # noqa: S106
    return Reply("Begin now, then report.", None, begun.proposal_id, begun.state.value)


def _fits_still(moment: Moment, permit: permits.Permit, proposal: Proposal) -> None:
    """Raise PermitRefused unless the permit allows this very call now, under this policy."""
    tool = moment.policy.tools.get(proposal.tool)
    if tool is None or tool.kind is not ToolKind.AGENT:
        raise PermitRefused("permit_mismatch", "The permit does not fit the proposal any more.")
    permits.check(
        permit,
        digests=(proposal.digest, proposal.r3_s256),
        tool=tool.name,
        actor=proposal.actor.id,
        verb=Verb.EXECUTE.value,
        attempt=1,
        policy_digest=moment.policy.digest,
        now_ms=moment.now_ms,
    )


def _objection(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict
) -> Reply | None:
    """Return the reply to what Sentinel finds now, None if it passes.

    An obstacle that goes away by itself costs neither the permit nor the proposal.
    """
    waits = waits_for_rule(verdict)
    if waits is not None:
        words = f"It has to wait: {waits}. Try again later; the permit stays good until it expires."
        return Reply(words, waits, proposal.proposal_id, proposal.state.value)
    if was_late(verdict):
        return Reply(_UNFINISHED, LATE, proposal.proposal_id, proposal.state.value)
    if not verdict.passed:
        ended = reject_by_sentinel(tx, moment, proposal, verdict)
        return Reply(ended.explanation, ended.reason, ended.proposal_id, ended.state.value)
    if newly_soft(proposal, verdict):
        asked = ask_people(tx, moment, proposal, verdict)
        words = "Sentinel found something that people must look at; the permit is taken back."
        return Reply(words, "permit_mismatch", asked.proposal_id, asked.state.value)
    return None


def _told(still: str) -> str:
    return "thaw, for everything is frozen" if still == FROZEN else still
