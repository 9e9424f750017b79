"""Make a proposal final when its window is over or it has none.

A deferred tool is called to commit, any other proposal is completed, and what must not stay is
taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lifecycle.agreeing.rows import begun_with, stands_as_told
from lifecycle.answers import Sender
from lifecycle.calls.claiming import Claim, claim_commit, claim_roll_back
from lifecycle.calls.mishaps import commit_failed, tool_of, unknown
from lifecycle.changed_rows import tell_of_a_changed_row
from lifecycle.deciding import decided_by
from lifecycle.door import amend, end
from lifecycle.event_kinds import EventKind
from lifecycle.existing import begun
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import stands_still
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Cause, Proposal, Verb
from lifecycle.quorum import configured_tier
from lifecycle.state import Trigger
from lifecycle.tier import Puller, Tier
from lifecycle.verdicts.fingerprints import call_print_of
from lifecycle.verdicts.last_judged import judged_as_it_stands
from lifecycle.windows import defers

#: Why something that was staged is not committed without a person.
CALLED_OTHERWISE: Final = "is called otherwise by the new config than when this began"


@dataclass(frozen=True, slots=True)
class Concluded:
    """The proposal after an answer, and the next call if one was claimed."""

    proposal: Proposal
    claim: Claim | None = None


def finish(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    cause: Cause,
    details: Mapping[str, Any] | None = None,
) -> Concluded:
    """Make it final: call a deferred tool to commit, complete the proposal of any other.

    `details` are told by the entry that makes it final.

    A row that no longer fits its digest was never approved; it is taken back if it has a window or
    a commit to come. If a commit follows by the row or by the config, and the row is not as the
    trail tells, nothing is made final and people are called.
    """
    tool = moment.policy.tools.get(proposal.tool)
    execution = proposal.execution
    windowed = execution is not None and execution.windowed
    by_config = defers(tool)
    deferred = execution is not None and execution.stages(by_config=by_config)
    if (deferred or windowed) and not fits_its_digest(proposal):
        return _changed_behind_our_back(tx, moment, proposal)
    if (deferred or (windowed and by_config)) and not stands_as_told(tx, proposal):
        return Concluded(_not_as_told(tx, moment, proposal))
    if deferred:
        return _commit(tx, moment, proposal, cause, details)
    return Concluded(complete(tx, moment, proposal, cause, details=details))


def _commit(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    cause: Cause,
    details: Mapping[str, Any] | None,
) -> Concluded:
    """Claim the commit of what the tool staged, if that may be.

    While everything stands still, or policy or evidence must be judged first, the commit waits;
    until it is due the stage can be taken back.
    """
    tool = moment.policy.tools.get(proposal.tool)
    if tool is not None and configured_tier(tool) is Tier.BLOCK:
        words = "The tool may not be used any more; what it staged is taken back."
        return taken_back_by_sentinel(tx, moment, proposal, words)
    if tool is not None and not tool.deferred:
        why = f"{proposal.tool} staged this, and by its new config commits nothing."
        return Concluded(_not_committable(tx, moment, proposal, cause, why))
    waits = stands_still(tx, moment, proposal) or _unjudged(tx, moment, proposal)
    if waits is not None:
        return Concluded(_staged(tx, moment, proposal, waits))
    if tool is not None and begun_with(tx, proposal) not in (call_print_of(tool), None):
        why = f"{proposal.tool} {CALLED_OTHERWISE}."
        return Concluded(_not_committable(tx, moment, proposal, cause, why))
    return claimed(claim_commit(tx, moment, proposal, cause, details))


def _unjudged(tx: Transaction, moment: Moment, proposal: Proposal) -> str | None:
    judged = judged_as_it_stands(tx, moment, proposal)
    return None if judged else "a check under the policy and the evidence of now"


def _staged(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Leave a stage without a window to the closing job.

    The job finds it by a window end that is set to now, though it never had a window.
    """
    execution = begun(proposal)
    if execution.windowed:
        return proposal
    waits = replace(execution, window_closes_at_ms=moment.now_ms)
    by = tool_of(proposal)
    details = {"why": why, "window_closes_at_ms": waits.window_closes_at_ms}
    return amend(tx, moment, proposal, EventKind.STAGED, by, details=details, execution=waits)


def _not_committable(
    tx: Transaction, moment: Moment, proposal: Proposal, cause: Cause, why: str
) -> Proposal:
    """Call for a person: by its new config the tool has no commit for what it staged, or another
    one than people saw.

    The commit was not called: what was in doubt of the execution is known, and says nothing of it.
    """
    due = replace(begun(proposal), verb=Verb.COMMIT, attempt=1, tries=1, cause=cause, doubted=False)
    return commit_failed(tx, moment, proposal.but(execution=due), why, {"doubted": False})


def _changed_behind_our_back(tx: Transaction, moment: Moment, proposal: Proposal) -> Concluded:
    words = "The stored row no longer fits what was approved; it is taken back."
    tell_of_a_changed_row(tx, moment, proposal, words)
    cause = Cause(SENTINEL, Puller.SENTINEL, "digest_mismatch", words)
    return claimed(claim_roll_back(tx, moment, proposal, cause))


def _not_as_told(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal:
    """Call for a person, and call no tool.

    Whoever changed the row may have changed the receipt in it as well.
    """
    why = "The stored row is not what the trail tells, so nothing is committed or made final."
    tell_of_a_changed_row(tx, moment, proposal, why)
    return unknown(tx, moment, proposal, why)


def taken_back_by_sentinel(
    tx: Transaction, moment: Moment, proposal: Proposal, words: str
) -> Concluded:
    """Take back what Sentinel objects to; `words` are the objection."""
    cause = Cause(SENTINEL, Puller.SENTINEL, "rolled_back_by_sentinel", words)
    return claimed(claim_roll_back(tx, moment, proposal, cause))


def claimed(claim: Claim) -> Concluded:
    """Return what a claim leads to: its call."""
    return Concluded(claim.proposal, claim)


def complete(
    tx: Transaction, moment: Moment, proposal: Proposal, cause: Cause, **changes: Any
) -> Proposal:
    """End it as completed, in the name of `cause`."""
    sender = _decided_early(tx, proposal, cause)
    return end(tx, moment, proposal, Trigger.COMPLETE, cause, sender=sender, **changes)


def _decided_early(tx: Transaction, proposal: Proposal, cause: Cause) -> Sender | None:
    """Return the sender of the ✅ that closed a window early; None for other ends.

    A proposal that a person settled ends in their name as well, but without a review.
    """
    if cause.reason != "approved_early":
        return None
    return decided_by(tx, proposal.proposal_id, cause.by, Verb.COMMIT)


def tool_cause(proposal: Proposal) -> Cause:
    """Return the cause of an end that only the tool brought about."""
    return Cause(tool_of(proposal), Puller.TOOL, "tool_succeeded", "The tool succeeded.")
