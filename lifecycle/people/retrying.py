"""Call a verb again that failed or whose outcome is unknown, for a person (section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lifecycle.agreeing.rows import begun_with, stands_as_told
from lifecycle.authority import explain
from lifecycle.calls.claiming import reclaim
from lifecycle.calls.finishing import CALLED_OTHERWISE, claimed
from lifecycle.door import record
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import stands_still
from lifecycle.heard import HEARD, OVERDUE_MS
from lifecycle.moment import Moment, clock_words
from lifecycle.opening import still_true
from lifecycle.people.acts import Act, Reviewed, found
from lifecycle.people.overtaken import said_of_this_call
from lifecycle.people.settling import reviewed, reviewer, too_early
from lifecycle.policy import Level, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Outcome, Proposal, Verb
from lifecycle.proposers import configured
from lifecycle.quorum import configured_tier, may_approve
from lifecycle.sentinel import Facts
from lifecycle.text.masking import mask_text
from lifecycle.tier import Tier
from lifecycle.verdict import Finding, Verdict
from lifecycle.verdicts.findings import newly_soft
from lifecycle.verdicts.fingerprints import call_print_of
from lifecycle.verdicts.fits_tool import misfit

_REPEATABLE: Final = frozenset(
    {Attention.OUTCOME_UNKNOWN, Attention.COMMIT_FAILED, Attention.ROLLBACK_INCOMPLETE}
)


def repeatable(proposal: Proposal) -> bool:
    """Return True if a call failed, or may have, in a way that a person can have repeated."""
    return proposal.execution is not None and proposal.attention in _REPEATABLE


class CheckAgain(Exception):
    """Raised in a unit when Sentinel was asked under another policy or with other evidence."""


def retry(
    tx: Transaction, moment: Moment, act: Act, *, checked: tuple[Facts, Verdict] | None
) -> Reviewed:
    """Repeat the failed verb with a new attempt and permit, unless Sentinel objects: to an
    execution it may object with a soft finding as well, of which people did not know.

    Raises ReviewRefused nothing_to_settle, still_running, not_a_reviewer, own_proposal,
    owner_of_agent (both where the tool is called otherwise than it was approved), tool_blocked,
    already_decided, frozen, digest_mismatch, permit_already_consumed, permit_expired, stale_card,
    tool_mismatch, invalid_parameter, digest_not_allowed, rollback_not_available, unknown_agent, a
    code of authority (`explain`), or with the id of the rule that objects; CheckAgain if `checked`
    is about another policy or other evidence.
    """
    proposal = found(tx, moment, act)
    by = reviewer(moment, proposal, act)
    execution = proposal.execution
    if execution is not None and execution.outcome is Outcome.RUNNING:
        raise ReviewRefused("still_running", "The tool has not answered yet; wait for it.")
    if execution is None or not repeatable(proposal):
        raise ReviewRefused("nothing_to_settle", _nothing_words(moment, proposal.proposal_id))
    said_of_this_call(tx, moment, proposal, act.sender)
    if execution.verb is not Verb.ROLL_BACK:
        _may_act_again(tx, moment, proposal)
        _called_as_approved(tx, moment, proposal, by.id)
        _sentinel_agrees(tx, moment, proposal, checked)
    again = {"verb": execution.verb.value, "attempt": execution.attempt + 1}
    record(tx, moment, EventKind.RETRIED, by, proposal=proposal, sender=act.sender, details=again)
    concluded = claimed(reclaim(tx, moment, proposal, by))
    return reviewed(concluded, f"{execution.verb.value} is tried again.")


def _nothing_words(moment: Moment, proposal_id: str) -> str:
    """Return that nothing failed and, if a stop waits, when somebody may let go of that stop."""
    words = f"Nothing of {proposal_id} has failed."
    if moment.heard.overdue(moment.now_ms + OVERDUE_MS, proposal_id):  # by then, at most
        way = f"retry {proposal_id}"
    elif moment.heard.freezes():
        way = "thaw"
    else:
        return words
    where = f"Where that has waited for {OVERDUE_MS // 1000} s"
    return f"{words} It waits for {HEARD}. {where}, {way} lets go of it."


def _sentinel_agrees(
    tx: Transaction, moment: Moment, proposal: Proposal, checked: tuple[Facts, Verdict] | None
) -> None:
    if checked is None or not still_true(tx, moment, proposal, checked[1], checked[0]):
        raise CheckAgain
    objections = _objections(proposal, checked[1])
    if objections:
        words = "; ".join(finding.words or finding.code for _, finding in objections)
        words = f"Sentinel objects now: {words.rstrip('.')}. {_way_out(proposal)}"
        raise ReviewRefused(objections[0][0], words)


def _objections(proposal: Proposal, verdict: Verdict) -> Sequence[tuple[str, Finding]]:
    """Return, each with its rule, what keeps a call from being repeated: what is hard, and for an
    execution, which begins anew, what people did not know of when they approved. `retry` takes no
    reason, and without one nobody's word counts over a soft finding."""
    hard = verdict.findings_at(Level.HARD)
    begins = begun(proposal).verb is Verb.EXECUTE
    return (*hard, *(newly_soft(proposal, verdict) if begins else ()))


def _may_act_again(tx: Transaction, moment: Moment, proposal: Proposal) -> None:
    """Raise ReviewRefused if execute or commit must not be called again, now or ever."""
    tool = moment.policy.tools.get(proposal.tool)
    if tool is None or configured_tier(tool) is Tier.BLOCK:
        raise ReviewRefused("tool_blocked", _taken_away(proposal, gone=tool is None))
    if begun(proposal).by_agent:
        raise ReviewRefused(
            "permit_already_consumed",
            f"{proposal.actor.id} carries this out itself, and has used its permit. Find out what "
            f"happened, then settle {proposal.proposal_id} happened | did-not-happen; to try it "
            "again the agent proposes it again.",
        )
    if proposal.kept_stop is not None:
        raise ReviewRefused(
            "already_decided",
            f"{proposal.kept_stop.person} has stopped it, so it is not tried again: find out what "
            f"happened, then settle {proposal.proposal_id} happened | did-not-happen",
        )
    if too_early(moment, begun(proposal)):
        raise ReviewRefused(
            "still_running",
            "Its window is open, and nothing is committed before that closes. Find out whether it "
            f"was, then settle {proposal.proposal_id} happened | did-not-happen",
        )
    still = stands_still(tx, moment, proposal)
    if still is not None:
        raise ReviewRefused("frozen", f"It stands still and waits for: {still}. Retry after that.")
    if not (fits_its_digest(proposal) and stands_as_told(tx, proposal)):
        raise ReviewRefused(
            "digest_mismatch",
            "The stored row no longer fits what was approved; it is not called again. Somebody "
            "changed the database.",
        )
    _still_asked_for(moment, proposal, tool)
    _still_taken(proposal, tool)
    _may_begin_anew(moment, proposal)


def _taken_away(proposal: Proposal, *, gone: bool) -> str:
    """Say that the config has no such tool any more, or has it as BLOCK, and what can be done."""
    words = f"{proposal.tool} may not be used any more, so it is not called again."
    if gone and proposal.attention is Attention.COMMIT_FAILED:
        first = f"Put it back into the config, then: retry {proposal.proposal_id}, or"
        return f"{words} {first} roll-back {proposal.proposal_id} <reason>"
    return f"{words} {_way_out(proposal)}"


def _way_out(proposal: Proposal) -> str:
    """Say what a person can do about a call that is not repeated."""
    if proposal.attention is Attention.COMMIT_FAILED:
        return f"To discard the stage: roll-back {proposal.proposal_id} <reason>"
    settled = f"settle {proposal.proposal_id} happened | did-not-happen"
    return f"Find out what happened, then {settled}"


def _still_asked_for(moment: Moment, proposal: Proposal, tool: ToolPolicy) -> None:
    """Raise ReviewRefused if an execution would begin anew for a proposer that the config does not
    know any more, or that may not use the tool any more: what waits ends by that as well."""
    if begun(proposal).verb is not Verb.EXECUTE:
        return
    proposer = configured(moment.policy, proposal.actor)
    explanation = explain(proposer, tool, proposal.read()) if proposer is not None else None
    code = "unknown_agent" if explanation is None else explanation.reason_code
    if code is not None:
        raise ReviewRefused(
            code,
            f"By the new config {proposal.actor.id} may not use {proposal.tool} any more, so it is "
            "not called again. Find out what happened, then settle "
            f"{proposal.proposal_id} happened | did-not-happen",
        )


def _called_as_approved(tx: Transaction, moment: Moment, proposal: Proposal, person: str) -> None:
    """Raise ReviewRefused if the config calls the tool otherwise than when this began, and this
    person may not approve the proposal: nobody else has seen what would be called."""
    tool = moment.policy.tools[proposal.tool]
    if begun_with(tx, proposal) in (call_print_of(tool), None):
        return
    objection = may_approve(moment.policy, tool, proposal.actor, person)
    if objection is not None:
        code, words = objection
        raise ReviewRefused(code, f"{proposal.tool} {CALLED_OTHERWISE}. {words}")


def _still_taken(proposal: Proposal, tool: ToolPolicy) -> None:
    """Raise ReviewRefused if the tool does not take the document any more, has no commit for what
    is to be committed (called all the same, it would answer that it succeeded), or can take nothing
    back in the window that begins with the call."""
    execution = begun(proposal)
    if execution.verb is Verb.COMMIT and not tool.deferred:
        raise ReviewRefused(
            "tool_mismatch",
            f"By its new config {proposal.tool} commits nothing, so what it staged would not be "
            "carried out. Put a config in force by which it commits, and retry; or roll-back "
            f"{proposal.proposal_id} <reason>, or settle it if its outcome is unknown",
        )
    if execution.verb is Verb.EXECUTE and execution.windowed and not tool.reversible:
        raise ReviewRefused(
            "rollback_not_available",
            f"It was approved with a rollback window, and by its new config {proposal.tool} takes "
            "nothing back, so it is not called again. Put a config in force by which it does, and "
            "retry; or find out what happened, then settle "
            f"{proposal.proposal_id} happened | did-not-happen",
        )
    fault = misfit(tool, proposal.read()) if execution.verb is Verb.EXECUTE else None
    if fault is not None:
        raise ReviewRefused(
            fault.code,
            f"By its new config {proposal.tool} does not take {mask_text(fault.path)}, so it is "
            "not called again. Find out what happened, then settle "
            f"{proposal.proposal_id} happened | did-not-happen",
        )


def _may_begin_anew(moment: Moment, proposal: Proposal) -> None:
    """Raise ReviewRefused permit_expired if the time in which execution may begin is over."""
    window = proposal.read().time_window
    starts = begun(proposal).verb is Verb.EXECUTE
    if starts and window is not None and window.valid_until_ms <= moment.now_ms:
        raise ReviewRefused(
            "permit_expired",
            f"It had to begin before {clock_words(window.valid_until_ms)}, so it is not called "
            f"again. Find out what happened, then settle {proposal.proposal_id} happened | "
            "did-not-happen",
        )
