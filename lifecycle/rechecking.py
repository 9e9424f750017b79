"""The policy or the evidence changed: what is open is judged again (design section 5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lifecycle.authority import explain
from lifecycle.claiming import claim_roll_back
from lifecycle.copied import is_of_a_copy
from lifecycle.counting import approvals
from lifecycle.door import amend
from lifecycle.finishing import Concluded
from lifecycle.fitting import fits_its_digest
from lifecycle.judging import (
    by_people,
    may_orchestrate,
    opening_changes,
    policy_changed,
    raised_by,
    reject_by_sentinel,
)
from lifecycle.moment import Moment
from lifecycle.opening import WAITABLE, digest_mismatch
from lifecycle.policy import Level, Policy, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Cause, Outcome, Proposal, Verb
from lifecycle.proposers import configured
from lifecycle.quorum import within_reach
from lifecycle.restanding import restood, revoke_permit, standing_changes
from lifecycle.standing import Standing, changed_rules
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Verdict


def rules_to_run(
    proposal: Proposal, before: Standing | None, after: Standing
) -> Collection[str] | None:
    """Return which rules a re-check runs: all before execution, the changed ones in a window.

    None means all.
    """
    if proposal.state is not State.EXECUTING or before is None:
        return None
    return changed_rules(before, after, proposal.tool)


def recheck(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    verdict: Verdict | None,
    before: Standing | None,
    after: Standing,
    lost: Collection[str] = (),
) -> Concluded:
    """Bring one open proposal under the policy in force; no `verdict` where the tool is gone.

    `lost` are people who approved and whose membership cannot be confirmed.
    """
    if proposal.terminal or proposal.checked_policy_digest == moment.policy.digest:
        return Concluded(proposal)
    tool = moment.policy.tools.get(proposal.tool)
    if proposal.state is State.EXECUTING:
        return _in_window(tx, moment, proposal, tool, verdict)
    if not fits_its_digest(proposal):
        return Concluded(digest_mismatch(tx, moment, proposal))
    if tool is None or tool.tier is Tier.BLOCK or verdict is None:
        return Concluded(policy_changed(tx, moment, proposal, "The tool may not be used any more."))
    if proposal.state is State.PENDING:  # judged under this policy by whoever judges it
        return Concluded(_noted(tx, moment, proposal))
    if not _passes_or_waits(verdict):
        return Concluded(reject_by_sentinel(tx, moment, proposal, verdict))
    if not _may_still_ask(moment.policy, proposal, tool):
        words = "Its proposer may not use this tool any more."
        return Concluded(policy_changed(tx, moment, proposal, words))
    return Concluded(_restand(tx, moment, proposal, tool, verdict, before, after, lost))


def _may_still_ask(policy: Policy, proposal: Proposal, tool: ToolPolicy) -> bool:
    """Judge the proposer's authority anew: roles, owner and attributes are part of a policy."""
    proposer = configured(policy, proposal.actor)
    return proposer is not None and not explain(proposer, tool, proposal.read()).denied


def recheck_window(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict
) -> Concluded:
    """Judge an open window again after its evidence changed; a hard finding rolls back."""
    if proposal.state is not State.EXECUTING or _passes_or_waits(verdict):
        return Concluded(proposal)
    return _rolled_back(tx, moment, proposal, "; ".join(_words(verdict)))


def _passes_or_waits(verdict: Verdict) -> bool:
    return all(finding.code in WAITABLE for _, finding in verdict.findings_at(Level.HARD))


def _in_window(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy | None,
    verdict: Verdict | None,
) -> Concluded:
    if proposal.execution is not None and proposal.execution.outcome is Outcome.RUNNING:
        return Concluded(proposal)  # looked at again once the tool has answered
    noted = _noted(tx, moment, proposal)
    if tool is not None and tool.tier is Tier.BLOCK:
        return _rolled_back(tx, moment, noted, "The tool may not be used any more.")
    if verdict is None or _passes_or_waits(verdict):  # what merely aged is no new finding
        return Concluded(noted)
    return _rolled_back(tx, moment, noted, "; ".join(_words(verdict)))


def _rolled_back(tx: Transaction, moment: Moment, proposal: Proposal, words: str) -> Concluded:
    execution = proposal.execution
    claimable = (
        execution is not None
        and execution.windowed
        and execution.verb is Verb.EXECUTE
        and execution.outcome is Outcome.DONE
    )
    if not claimable:
        return Concluded(proposal)
    cause = Cause(SENTINEL, Puller.SENTINEL, "rolled_back_by_sentinel", words)
    claim = claim_roll_back(tx, moment, proposal, cause)
    return Concluded(claim.proposal, claim if claim.token else None)


def _restand(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy,
    verdict: Verdict,
    before: Standing | None,
    after: Standing,
    lost: Collection[str],
) -> Proposal:
    """Set tier and quorum anew; where what was approved changed, approvals are void."""
    fresh = raised_by(restood(moment.policy, proposal) or proposal, verdict)
    if is_of_a_copy(tx, proposal):  # no policy lets begin by itself what may be done already
        fresh = by_people(fresh)
    if not within_reach(
        moment.policy, tool, proposal.actor.id, fresh.quorum, fresh.quorum_needs_people
    ):
        return policy_changed(tx, moment, proposal, "Its quorum can no longer be reached.")
    changed = _changed(proposal, fresh, verdict) or _people_or_call_changed(tool, before, after)
    told: dict[str, Any] = {"tier": fresh.tier.value, "quorum": fresh.quorum}
    changes: dict[str, Any] = {
        **standing_changes(fresh),
        "verdict": verdict,
        # A permit names the policy it was given under: it is taken back, and given anew.
        **revoke_permit(tx, moment, proposal),
    }
    if changed:
        voided = tx.reviews.void(proposal.proposal_id, None, "the policy changed")
        changes |= {"opener": None, "opener_puller": None, "waiting_for": None}
        changes |= opening_changes(tx, moment.policy, fresh, lost)
        return _noted(tx, moment, proposal, told | {"approvals_void": voided}, **changes)
    if not _opener_stands(tx, moment, fresh, lost):
        changes |= {"opener": None, "opener_puller": None, "waiting_for": None}
        changes |= opening_changes(tx, moment.policy, fresh, lost)
    return _noted(tx, moment, proposal, told, **changes)


def _opener_stands(tx: Transaction, moment: Moment, fresh: Proposal, lost: Collection[str]) -> bool:
    """Say whether whoever opened the gate could still open it under this policy."""
    match fresh.opener_puller:
        case Puller.PERSON:
            reviews = tx.reviews.of(fresh.proposal_id)
            counted = approvals(reviews, moment.policy, fresh, lost)
            named = fresh.opener is not None and fresh.opener.id in counted
            return named and len(counted) >= fresh.quorum
        case Puller.ORCHESTRATOR:
            still = fresh.opener is not None and fresh.opener.id == moment.policy.orchestrator
            return still and may_orchestrate(moment.policy, fresh)
        case _:
            return True


def _changed(proposal: Proposal, fresh: Proposal, verdict: Verdict) -> bool:
    same_results = proposal.verdict is not None and proposal.verdict.results == verdict.results
    return (
        not same_results
        or proposal.tier is not fresh.tier
        or proposal.quorum != fresh.quorum
        or proposal.quorum_needs_people != fresh.quorum_needs_people
    )


def _people_or_call_changed(tool: ToolPolicy, before: Standing | None, after: Standing) -> bool:
    """Who approves, or what the config adds to the call, is not what it was when people looked."""
    if before is None:
        return True
    return before.reviewers.get(tool.name) != after.reviewers.get(tool.name) or (
        before.calls.get(tool.name) != after.calls.get(tool.name)
    )


def _noted(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    details: dict[str, Any] | None = None,
    **changes: Any,
) -> Proposal:
    return amend(
        tx,
        moment,
        proposal,
        "rechecked",
        SENTINEL,
        details=details,
        checked_policy_digest=moment.policy.digest,
        policy_digest=moment.policy.digest,
        **changes,
    )


def _words(verdict: Verdict) -> list[str]:
    return [finding.words for _, finding in verdict.findings_at(Level.HARD)]
