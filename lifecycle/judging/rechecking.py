"""What is open is judged again after the policy or its evidence changed (design section 5).

These are parts of units; `adopting` asks Sentinel before and runs them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from lifecycle.authority import explain
from lifecycle.calls.finishing import Concluded
from lifecycle.changed_rows import digest_mismatch
from lifecycle.copied import is_of_a_copy
from lifecycle.counting import approvals
from lifecycle.fitting import fits_its_digest
from lifecycle.judging.open_windows import (
    in_window,
    owes_evidence,
    passes_or_waits,
    recheck_window,
    was_late,
)
from lifecycle.moment import Moment
from lifecycle.opening import ask_people
from lifecycle.policy import Level, Policy, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.proposers import configured
from lifecycle.quorum import within_reach
from lifecycle.review import Absent
from lifecycle.state import State
from lifecycle.text.masking import mask_text
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Finding, RuleResult, Verdict
from lifecycle.verdicts.effective_terms import (
    restood,
    revoke_permit,
    standing_changes,
    standing_details,
)
from lifecycle.verdicts.findings import WAITABLE, newly_soft
from lifecycle.verdicts.fingerprints import (
    Fingerprints,
    fingerprints_of,
    fingerprints_under,
    in_force,
)
from lifecycle.verdicts.fits_tool import misfit
from lifecycle.verdicts.judge import (
    by_people,
    may_orchestrate,
    opening_changes,
    policy_changed,
    raised_by,
    reject_by_sentinel,
    verdict_details,
)
from lifecycle.verdicts.last_judged import judged_under, note_judged, policy_before

_MAY_NOT_ASK: Final = "Its proposer may not use this tool any more."
_OUT_OF_REACH: Final = "Its quorum can no longer be reached."


@dataclass(frozen=True, slots=True)
class JudgedAnew:
    """What is known of a proposal under the policy in force. `verdict` is None if the tool is gone.

    `before` and `after` are the fingerprints of the policy that judged it last, None if nothing is
    kept of it, and of the one in force. `lost` are people who approved and whose membership cannot
    be confirmed.
    """

    verdict: Verdict | None
    before: Fingerprints | None
    after: Fingerprints
    lost: Collection[Absent]


def recheck(tx: Transaction, moment: Moment, proposal: Proposal, anew: JudgedAnew) -> Concluded:
    """Bring one open proposal under the policy in force, within a unit."""
    verdict = anew.verdict
    over = proposal.terminal or proposal.expired(moment.now_ms)  # whatever the policy says
    if over or judged_under(moment.policy, proposal):
        return Concluded(proposal)
    tool = moment.policy.tools.get(proposal.tool)
    if proposal.state is State.EXECUTING:
        owes = owes_evidence(proposal, anew.before)
        return in_window(tx, moment, proposal, tool, verdict, owes=owes)
    if not fits_its_digest(proposal):
        return Concluded(digest_mismatch(tx, moment, proposal))
    if tool is None or tool.tier is Tier.BLOCK or verdict is None:
        return Concluded(policy_changed(tx, moment, proposal, "The tool may not be used any more."))
    if proposal.state is State.PENDING:  # whoever judges it will do so under this policy
        return Concluded(stands_anew(tx, moment, proposal))
    if not passes_or_waits(verdict):
        return Concluded(reject_by_sentinel(tx, moment, proposal, verdict))
    refused = _would_be_refused(moment.policy, proposal, tool)
    if refused is not None:
        return Concluded(policy_changed(tx, moment, proposal, refused))
    return Concluded(_restand(tx, moment, proposal, tool, verdict, anew))


def recheck_by_evidence(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict | None
) -> Concluded:
    """Judge one open proposal again by evidence recorded since; a hard finding ends it.

    What executes is rolled back. What waits is rejected, so that nobody is asked about what could
    not begin; on a new soft finding people are asked again. `verdict` is of the rules about
    evidence alone.
    """
    if proposal.state is not State.SENTINEL_APPROVED:
        return recheck_window(tx, moment, proposal, verdict)
    if verdict is None or proposal.expired(moment.now_ms):
        return Concluded(proposal)
    judged_by = (proposal.checked_policy_digest, verdict.policy_digest)
    if judged_by != (moment.policy.digest,) * 2 or not in_force(tx, moment):
        return Concluded(proposal)  # `recheck` runs all rules under the policy in force
    if was_late(verdict):
        return Concluded(proposal)  # nothing was found, and all rules run again before it begins
    whole = _brought_up_to_date(proposal.verdict, verdict)
    if not passes_or_waits(verdict):
        return Concluded(reject_by_sentinel(tx, moment, proposal, _without_waits(whole, verdict)))
    if newly_soft(proposal, verdict):
        return Concluded(ask_people(tx, moment, proposal, whole))
    return Concluded(proposal)


def _brought_up_to_date(known: Verdict | None, fresh: Verdict) -> Verdict:
    """Return the verdict on record with the results of the rules that ran again in place."""
    ran = {result.rule: result for result in fresh.results}
    others = known.results if known else ()
    brought = [ran.pop(result.rule, result) for result in others]
    return replace(fresh, results=(*brought, *ran.values()))


def _without_waits(whole: Verdict, fresh: Verdict) -> Verdict:
    """Leave out findings of the other rules that merely made it wait: they may be over by now."""
    results = (
        each if each in fresh.results else replace(each, findings=tuple(_lasting(each)))
        for each in whole.results
    )
    return replace(whole, results=tuple(results))


def _lasting(result: RuleResult) -> Iterator[Finding]:
    for found in result.findings:
        if result.level_of(found) is not Level.HARD or found.code not in WAITABLE:
            yield found


def stands_anew(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Bring a pending proposal, which no rule has judged yet, under the policy in force, or end it.

    Whether its proposer may ask, and who has to approve, was settled under the policy before.
    """
    if proposal.state is not State.PENDING or judged_under(moment.policy, proposal):
        return proposal
    tool, fresh = moment.policy.tools.get(proposal.tool), restood(moment.policy, proposal)
    if tool is None or fresh is None:
        return policy_changed(tx, moment, proposal, "The tool may not be used any more.")
    refused = _would_be_refused(moment.policy, proposal, tool)
    if refused is not None:
        return policy_changed(tx, moment, proposal, refused)
    if not _within_reach(moment.policy, tool, fresh):
        return policy_changed(tx, moment, proposal, _OUT_OF_REACH)
    before, after = fingerprints_before(tx, proposal), fingerprints_of(moment.policy)
    told = standing_details(fresh)
    if _stands_otherwise(proposal, fresh) or _people_or_call_changed(tool, before, after):
        void = tx.reviews.void(proposal.proposal_id, None, "the policy changed")
        told |= {"approvals_void": void}
    return note_judged(tx, moment, proposal, told, **standing_changes(fresh))


def fingerprints_before(tx: Transaction, proposal: Proposal) -> Fingerprints | None:
    """Return the fingerprints of the policy that judged it last, None if they are not kept."""
    return fingerprints_under(tx, policy_before(proposal))


def _would_be_refused(policy: Policy, proposal: Proposal, tool: ToolPolicy) -> str | None:
    """Return in words why this policy would not let it in, None if it would.

    What the gate asks of a tool's document, and the roles, owner and attributes of its proposer,
    are part of a policy.
    """
    proposer, document = configured(policy, proposal.actor), proposal.read()
    if proposer is None or explain(proposer, tool, document).denied:
        return _MAY_NOT_ASK
    fault = misfit(tool, document)
    if fault is None:
        return None
    where = mask_text(fault.path)
    return f"By its new config {tool.name} does not take {where}: {fault.suggestion}"


def _restand(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy,
    verdict: Verdict,
    anew: JudgedAnew,
) -> Proposal:
    """Set tier and quorum anew; if what people approved has changed, approvals become void."""
    fresh = raised_by(moment.policy, restood(moment.policy, proposal) or proposal, verdict)
    if is_of_a_copy(tx, proposal):  # it may have been done already: only people let it begin
        fresh = by_people(moment.policy, fresh)
    if not _within_reach(moment.policy, tool, fresh):
        return policy_changed(tx, moment, proposal, _OUT_OF_REACH)
    others = _people_or_call_changed(tool, anew.before, anew.after)
    changed = _changed(proposal, fresh, verdict) or others
    told = standing_details(fresh) | verdict_details(verdict)
    changes: dict[str, Any] = {
        **standing_changes(fresh),
        "verdict": verdict,
        # A permit names the policy it was given under: it is revoked, and another given later.
        **revoke_permit(tx, moment, proposal),
    }
    if changed:
        told["approvals_void"] = tx.reviews.void(proposal.proposal_id, None, "the policy changed")
    if changed or not _opener_stands(tx, moment, fresh, anew.lost):
        changes |= {"opener": None, "opener_puller": None, "waiting_for": None}
        changes |= opening_changes(tx, moment.policy, fresh, anew.lost)
    return note_judged(tx, moment, proposal, told, **changes)


def _opener_stands(
    tx: Transaction, moment: Moment, fresh: Proposal, lost: Collection[Absent]
) -> bool:
    """Return whether whoever opened the gate could still open it under this policy."""
    match fresh.opener_puller:
        case Puller.PERSON:
            reviews = tx.reviews.of(fresh.proposal_id)
            counted = approvals(reviews, moment.policy, fresh, lost)
            named = fresh.opener is not None and fresh.opener.id in counted
            return named and len(counted) >= fresh.quorum
        case Puller.ORCHESTRATOR:
            still = fresh.opener is not None and fresh.opener.id == moment.policy.orchestrator
            return still and may_orchestrate(moment.policy, fresh)
        case None:  # nobody so far; by this policy the orchestrator may
            return False
        case _:
            return True


def _within_reach(policy: Policy, tool: ToolPolicy, fresh: Proposal) -> bool:
    needs_people = fresh.quorum_needs_people
    return within_reach(policy, tool, fresh.actor.id, fresh.quorum, needs_people)


def _changed(proposal: Proposal, fresh: Proposal, verdict: Verdict) -> bool:
    found_the_same = proposal.verdict is not None and _found(proposal.verdict) == _found(verdict)
    return not found_the_same or _stands_otherwise(proposal, fresh)


def _found(verdict: Verdict) -> list[tuple[Level, str, Finding]]:
    """Return the findings of a verdict that people answered for when they approved.

    Rules without findings are left out, and so is what merely makes it wait: the hour passes by
    itself, and evidence ages.
    """
    everything = [(level, *found) for level in Level for found in verdict.findings_at(level)]
    return [each for each in everything if not (each[0] is Level.HARD and each[2].code in WAITABLE)]


def _stands_otherwise(proposal: Proposal, fresh: Proposal) -> bool:
    """Return whether tier or quorum is another, or the window is shorter, than what people saw."""
    return (
        proposal.tier is not fresh.tier
        or proposal.quorum != fresh.quorum
        or proposal.quorum_needs_people != fresh.quorum_needs_people
        or proposal.window_s > fresh.window_s
    )


def _people_or_call_changed(
    tool: ToolPolicy, before: Fingerprints | None, after: Fingerprints
) -> bool:
    """Return whether who approves, or what the config adds to the call, may have changed since
    people looked; True if nothing is kept of the policy of then."""
    if before is None:
        return True
    return before.reviewers.get(tool.name) != after.reviewers.get(tool.name) or (
        before.calls.get(tool.name) != after.calls.get(tool.name)
    )
