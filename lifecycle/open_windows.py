"""Open windows are judged again after policy or evidence changed: a hard finding rolls back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lifecycle.calls.finishing import Concluded, taken_back_by_sentinel
from lifecycle.fingerprints import Fingerprints, changed_rules, in_force
from lifecycle.fitting import fits_its_digest
from lifecycle.last_judged import (
    awaits_answer,
    is_owed,
    note_judged,
    note_owed,
    note_paid,
    policy_before,
)
from lifecycle.moment import Moment
from lifecycle.opening import WAITABLE
from lifecycle.policy import Level, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.verdict import Verdict
from lifecycle.windows import defers

#: What a rule found that was not done in time.
LATE: Final = "rule_timeout"
_NOT_YET: Final = "The policy in force has not judged it yet."
_STILL: Final = "Its evidence is still to be judged by, under this policy."


def rules_to_run(
    proposal: Proposal, before: Fingerprints | None, after: Fingerprints
) -> Collection[str] | None:
    """Return which rules a re-check runs: all before execution, the changed ones in a window.

    None means all.
    """
    if proposal.state is not State.EXECUTING or before is None:
        return None
    return changed_rules(before, after, proposal.tool)


def owes_evidence(proposal: Proposal, before: Fingerprints | None) -> bool:
    """Say whether its evidence has to be judged once more under the new policy.

    So it is where evidence objected, or might, and could decide nothing yet, and where nothing
    could be judged meanwhile because its tool was gone from the config. What somebody wrote there
    names no evidence.
    """
    was_gone = before is not None and proposal.tool not in before.tools
    asked = is_owed(proposal) or was_gone
    return proposal.state is State.EXECUTING and asked and fits_its_digest(proposal)


def recheck_window(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict | None
) -> Concluded:
    """Judge what is under way again after its evidence changed; a hard finding rolls back.

    What cannot be taken back yet, because its tool has not answered, is judged again once it has;
    so is what could not be judged (no `verdict` although its tool is there), and what a policy
    judged that is not in force any more. That one policy finds nothing in its evidence says nothing
    of another, by which the row is judged: that one may be in force again before this one has
    judged it. Nothing closes it before.
    """
    if proposal.state is not State.EXECUTING:
        return Concluded(proposal)
    if verdict is None and proposal.tool in moment.policy.tools:
        return Concluded(_owed(tx, moment, proposal, "It cannot be judged now."))
    others = verdict is not None and verdict.policy_digest != moment.policy.digest
    if others or not in_force(tx, moment):
        return Concluded(_owed(tx, moment, proposal, "Another policy has judged it."))
    if verdict is None or passes_or_waits(verdict):
        if policy_before(proposal) != moment.policy.digest:
            return Concluded(_owed(tx, moment, proposal, _NOT_YET))
        kept = proposal if awaits_answer(proposal) else note_paid(tx, moment, proposal)
        return Concluded(kept)
    words = "; ".join(_words(verdict))
    if awaits_answer(proposal):
        return Concluded(_owed(tx, moment, proposal, words))
    if _can_be_taken_back(proposal):
        return _rolled_back(tx, moment, proposal, words)
    return Concluded(note_paid(tx, moment, proposal))  # people decide how it goes on


def _owed(tx: Transaction, moment: Moment, proposal: Proposal, why: str) -> Proposal:
    """Note it once, where something may still be closed, committed or taken back."""
    execution = proposal.execution
    if execution is None or execution.verb is Verb.ROLL_BACK or is_owed(proposal):
        return proposal
    by_config = defers(moment.policy.tools.get(proposal.tool))
    if not (execution.windowed or execution.stages(by_config=by_config)):
        return proposal
    return note_owed(tx, moment, proposal, why)


def passes_or_waits(verdict: Verdict) -> bool:
    """Say whether no hard rule objects, or those alone that look at what passes by itself."""
    return all(finding.code in WAITABLE for _, finding in verdict.findings_at(Level.HARD))


def was_late(verdict: Verdict) -> bool:
    """Say whether Sentinel objects to nothing but that it was not done in time (ADR 0021).

    A large text may be late on a busy machine: that ends nothing which people approved.
    """
    codes = {finding.code for _, finding in verdict.findings_at(Level.HARD)}
    return LATE in codes and codes <= WAITABLE | {LATE}


def in_window(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy | None,
    verdict: Verdict | None,
    *,
    owes: bool = False,
) -> Concluded:
    """Bring what is under way under the policy in force; a hard finding rolls back.

    `owes`: its evidence is still to be judged by, under this very policy. So it is where it has
    aged: under the policy before it may have objected to nobody who had to hear of it.
    """
    if awaits_answer(proposal):
        return Concluded(proposal)  # looked at again once the tool has answered, or a person has
    noted = note_judged(tx, moment, proposal)
    if tool is not None and tool.tier is Tier.BLOCK:
        return _rolled_back(tx, moment, noted, "The tool may not be used any more.")
    if verdict is None or passes_or_waits(verdict):  # what merely aged is no new finding
        owes = owes or (verdict is not None and _has_aged(verdict))
        return Concluded(_owed(tx, moment, noted, _STILL) if owes else noted)
    return _rolled_back(tx, moment, noted, "; ".join(_words(verdict)))


def _has_aged(verdict: Verdict) -> bool:
    return any(found.code == "evidence_stale" for _, found in verdict.findings_at(Level.HARD))


def _can_be_taken_back(proposal: Proposal) -> bool:
    execution = proposal.execution
    return (
        execution is not None
        and execution.windowed
        and execution.verb is Verb.EXECUTE
        and execution.outcome is Outcome.DONE
    )


def _rolled_back(tx: Transaction, moment: Moment, proposal: Proposal, words: str) -> Concluded:
    if not _can_be_taken_back(proposal):
        return Concluded(proposal)
    return taken_back_by_sentinel(tx, moment, proposal, words)


def _words(verdict: Verdict) -> list[str]:
    return [finding.words for _, finding in verdict.findings_at(Level.HARD)]
