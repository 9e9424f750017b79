"""Tools of kind `agent`: the permit is handed over, redeemed once, and answered with a receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lifecycle import permit as permits
from lifecycle.acts import plain_words
from lifecycle.answers import Reply, Sender
from lifecycle.calling import CallResult, result_of
from lifecycle.concluding import conclude
from lifecycle.document import TimeWindow
from lifecycle.door import record
from lifecycle.errors import GovernanceError, PermitRefused
from lifecycle.expiry import expire
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import stands_still
from lifecycle.gathering import same_evidence
from lifecycle.gating import Gatekeeper
from lifecycle.judging import reject_by_sentinel
from lifecycle.mishaps import unknown
from lifecycle.moment import Moment
from lifecycle.opening import (
    ask_people,
    digest_mismatch,
    newly_soft,
    start_execution,
    waits_for_rule,
)
from lifecycle.permitting import LONGEST_MS
from lifecycle.policy import ToolKind
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Outcome, Proposal
from lifecycle.redemption import approved_parameters, verify_parameters
from lifecycle.sentinel import Facts
from lifecycle.standing import in_force
from lifecycle.state import State
from lifecycle.verdict import Verdict
from lifecycle.windows import call_limit_ms

_FRESH_CHECKS = 5
_UNAVAILABLE = "The audit trail cannot be written, so nothing begins; try again later."


@dataclass(frozen=True, slots=True)
class Redemption:
    """What is presented with a permit, by whom; `proposal_id` and `along` as in Workflow.redeem."""

    parameters: Any
    sender: Sender
    proposal_id: str | None = None
    along: Callable[[Transaction], None] | None = None


async def redeem(gatekeeper: Gatekeeper, token: str, asked: Redemption) -> Reply:
    """Use up a permit with exactly the approved parameters; execution begins here.

    A repeat with the same parameters is `permit_already_consumed` with the proposal as it stands.
    """
    world, parameters, sender = gatekeeper.world, asked.parameters, asked.sender
    try:
        permit = permits.read(token, world.ring)
        if asked.proposal_id not in (None, permit.proposal_id):
            raise PermitRefused("permit_mismatch", "This permit is of another proposal.")
        proposal = await world.store.read(lambda tx: tx.proposals.get(permit.proposal_id))
        if proposal is None:
            raise PermitRefused("proposal_not_found", "No proposal belongs to this permit.")
        for _ in range(_FRESH_CHECKS):
            checked = await _judged(gatekeeper, proposal, parameters)
            unit = partial(_redeemed, world.moment(), permit, asked, checked)
            reply = await world.write(unit)
            if reply is not None:
                return reply
        raise PermitRefused("still_running", "What it is judged by keeps changing; try again.")
    except GovernanceError as error:
        await _noted(gatekeeper, sender, error.code, token)
        return Reply.of_error(error)
    except StoreUnavailable:
        return Reply(_UNAVAILABLE, "audit_unavailable")


async def report(
    gatekeeper: Gatekeeper,
    proposal_id: str,
    sender: Sender,
    outcome: str,
    receipt: Mapping[str, Any],
) -> Reply:
    """Take the agent's receipt; `failed` says that nothing was left behind."""
    world = gatekeeper.world
    moment = world.moment()
    try:
        proposal = await world.write(
            lambda tx: _reported(tx, moment, proposal_id, sender, outcome, receipt)
        )
    except GovernanceError as error:
        await _noted(gatekeeper, sender, error.code, proposal_id)
        return Reply.of_error(error, proposal_id)
    except StoreUnavailable:
        return Reply(_UNAVAILABLE, "audit_unavailable", proposal_id)
    return Reply("The receipt is recorded.", None, proposal.proposal_id, proposal.state.value)


def is_overdue(moment: Moment, proposal: Proposal) -> bool:
    """Say whether an agent redeemed its permit and should have reported by now.

    It has as long as a tool of ours would.
    """
    tool, execution = moment.policy.tools.get(proposal.tool), proposal.execution
    if execution is None or execution.outcome is not Outcome.RUNNING:
        return False
    timeout_s = tool.timeout_s if tool else LONGEST_MS // 1000
    limit_ms = call_limit_ms(timeout_s, _time_window(proposal))
    return moment.now_ms >= execution.began_at_ms + limit_ms


def _time_window(proposal: Proposal) -> TimeWindow | None:
    try:
        return proposal.read().time_window
    except ValueError:
        return None  # somebody wrote into the row, and bounds nothing with it


def overdue(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Call for a person where an agent redeemed its permit and never reported."""
    if not is_overdue(moment, proposal):
        return proposal
    return unknown(tx, moment, proposal, "The agent redeemed its permit and sent no receipt.")


async def _judged(
    gatekeeper: Gatekeeper, proposal: Proposal, parameters: Any
) -> tuple[Facts, Verdict] | None:
    """Run the rules on what will really be done: digests replaced by the presented texts."""
    waits = proposal.state is State.SENTINEL_APPROVED and fits_its_digest(proposal)
    if not waits or not isinstance(parameters, dict):
        return None
    verify_parameters(parameters, approved_parameters(proposal.r3_document, proposal.r3_s256))
    actual = proposal.read().model_copy(update={"parameters": parameters})
    shown = replace(proposal, document=actual.model_dump_json(exclude_unset=True).encode())
    return await gatekeeper.check(shown, executing=True)


def _redeemed(
    moment: Moment,
    permit: permits.Permit,
    asked: Redemption,
    checked: tuple[Facts, Verdict] | None,
    tx: Transaction,
) -> Reply | None:
    """Begin, or say why not; None where the evidence moved and it is to be judged again."""
    proposal = tx.proposals.get(permit.proposal_id)
    if proposal is None or asked.sender.identity != proposal.actor:
        raise PermitRefused("permit_mismatch", "This permit was given to somebody else.")
    kept = tx.permits.get(permit.permit_id)
    if kept is None:
        raise PermitRefused("permit_signature_invalid", "This permit was never issued here.")
    if proposal.state is State.SENTINEL_APPROVED and not fits_its_digest(proposal):
        ended = digest_mismatch(tx, moment, proposal)
        return Reply(ended.explanation, "digest_mismatch", ended.proposal_id, ended.state.value)
    approved = approved_parameters(proposal.r3_document, proposal.r3_s256)
    verify_parameters(asked.parameters, approved)
    if kept.consumed_at_ms is not None or proposal.state is not State.SENTINEL_APPROVED:
        raise PermitRefused(
            "permit_already_consumed",
            f"This permit was used up; the proposal is {proposal.state}. It is never run again.",
        )
    if proposal.expired(moment.now_ms):
        expire(tx, moment, proposal)
        return Reply("The permit was not redeemed in time.", "permit_expired", proposal.proposal_id)
    reply = _begun(tx, moment, permit, proposal, checked)
    if asked.along is not None and reply is not None and reply.done:
        asked.along(tx)
    return reply


def _begun(
    tx: Transaction,
    moment: Moment,
    permit: permits.Permit,
    proposal: Proposal,
    checked: tuple[Facts, Verdict] | None,
) -> Reply | None:
    _fits_still(moment, permit, proposal)
    if stands_still(tx, moment, proposal) is not None:
        return Reply("Everything is frozen; try again after thaw.", "frozen", proposal.proposal_id)
    if checked is None:
        raise PermitRefused("permit_mismatch", "The permit does not fit the proposal any more.")
    if not in_force(tx, moment) or not same_evidence(tx, proposal, checked[0]):
        return None
    objection = _objection(tx, moment, proposal, checked[1])
    if objection is not None:
        return objection
    tx.permits.consume(permit.permit_id, moment.now_ms)
    tool = moment.policy.tools[proposal.tool]
    begun = start_execution(tx, moment, proposal, tool, token="redeemed").proposal  # noqa: S106
    return Reply("Begin now, then report.", None, begun.proposal_id, begun.state.value)


def _fits_still(moment: Moment, permit: permits.Permit, proposal: Proposal) -> None:
    """Raise PermitRefused unless the permit allows this very call now, under this policy."""
    tool = moment.policy.tools.get(proposal.tool)
    if tool is None or tool.kind is not ToolKind.AGENT:
        raise PermitRefused("permit_mismatch", "The permit does not fit the proposal any more.")
    permits.check(
        permit,
        digest=proposal.digest,
        tool=tool.name,
        actor=proposal.actor.id,
        verb=permit.verb,
        attempt=1,
        policy_digest=moment.policy.digest,
        now_ms=moment.now_ms,
    )


def _objection(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict
) -> Reply | None:
    """Say what Sentinel finds now: what passes by itself costs neither permit nor proposal."""
    waits = waits_for_rule(verdict)
    if waits is not None:
        words = f"It has to wait: {waits}. Try again later; the permit stays good until it expires."
        return Reply(words, waits, proposal.proposal_id, proposal.state.value)
    if not verdict.passed:
        ended = reject_by_sentinel(tx, moment, proposal, verdict)
        return Reply(ended.explanation, ended.reason, ended.proposal_id, ended.state.value)
    if newly_soft(proposal, verdict):
        asked = ask_people(tx, moment, proposal, verdict)
        words = "Sentinel found something that people must look at; the permit is taken back."
        return Reply(words, "permit_already_consumed", asked.proposal_id, asked.state.value)
    return None


def _reported(
    tx: Transaction,
    moment: Moment,
    proposal_id: str,
    sender: Sender,
    outcome: str,
    receipt: Mapping[str, Any],
) -> Proposal:
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        raise PermitRefused("proposal_not_found", "No proposal has this id.")
    if sender.identity != proposal.actor:
        raise PermitRefused("permit_mismatch", "Only the agent that redeemed can report.")
    execution = proposal.execution
    if execution is not None and not execution.by_agent:
        raise PermitRefused("permit_mismatch", "Its tool answers here, not its agent.")
    if execution is None or execution.outcome is not Outcome.RUNNING:
        raise PermitRefused("permit_already_consumed", "No receipt is awaited here.")
    match outcome:
        case "done":
            result = result_of(proposal.tool, execution.verb.value, receipt)
        case "failed":
            result = CallResult(Outcome.FAILED, None, "The agent reported a failure.", ())
        case "unknown":
            words = "The agent reported a failure and cannot say what was left behind."
            result = CallResult(Outcome.UNKNOWN, None, words, ())
        case _:
            raise PermitRefused("permit_mismatch", "outcome must be done or failed.")
    return conclude(tx, moment, proposal, execution, result).proposal


async def _noted(gatekeeper: Gatekeeper, sender: Sender, code: str, what: str) -> None:
    moment = gatekeeper.world.moment()
    try:
        await gatekeeper.world.write(
            lambda tx: record(
                tx,
                moment,
                "permit_refused",
                sender.identity,
                sender=sender,
                reason=code,
                details={"account": plain_words(sender.account), "length": len(what)},
            )
        )
    except StoreUnavailable:
        return
