"""Open windows are judged again after policy or evidence changed; a hard finding rolls back.

`recheck_window` is for new evidence, `in_window` for a new policy; `rechecking` calls both.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lifecycle.calls.finishing import Concluded, taken_back_by_sentinel
from lifecycle.fitting import fits_its_digest
from lifecycle.moment import Moment
from lifecycle.policy import Level, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.tier import Tier
from lifecycle.verdict import Verdict
from lifecycle.verdicts.findings import LATE, WAITABLE
from lifecycle.verdicts.fingerprints import Fingerprints, changed_rules, in_force
from lifecycle.verdicts.last_judged import (
    awaits_answer,
    is_owed,
    note_judged,
    note_owed,
    note_paid,
    policy_before,
)
from lifecycle.windows import defers

_NOT_YET: Final = "The policy in force has not judged it yet."
_STILL: Final = "Its evidence is still to be judged by, under this policy."


def rules_to_run(
    proposal: Proposal, before: Fingerprints | None, after: Fingerprints
) -> Collection[str] | None:
    """Return which rules a re-check runs: before execution all, in a window those that changed.

    `before` and `after` are the fingerprints of the policy that judged it last, None if nothing is
    kept of it, and of the one in force. None means all rules.
    """
    if proposal.state is not State.EXECUTING or before is None:
        return None
    return changed_rules(before, after, proposal.tool)


def owes_evidence(proposal: Proposal, before: Fingerprints | None) -> bool:
    """Return whether its evidence has to be judged once more under the new policy.

    That is so if evidence objected, or might have, and could decide nothing yet, or if nothing
    could be judged meanwhile because its tool was gone from the config. A changed row names no
    evidence.
    """
    was_gone = before is not None and proposal.tool not in before.tools
    asked = is_owed(proposal) or was_gone
    return proposal.state is State.EXECUTING and asked and fits_its_digest(proposal)


def recheck_window(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict | None
) -> Concluded:
    """Judge an executing proposal again after its evidence changed; a hard finding rolls back.

    `verdict` is None if it could not be judged, or its tool is gone. The proposal is marked to be
    judged again (`note_owed`), and nothing closes it before:

    - if the tool has not answered, so that it cannot be taken back yet
    - if it could not be judged although its tool is configured
    - if a policy judged it that is not in force any more
    - if nothing objects, but the row was judged last by another policy, which may be in force again
      before this one has judged the row
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
    """Mark it once as owed, if something may still be closed, committed or taken back."""
    execution = proposal.execution
    if execution is None or execution.verb is Verb.ROLL_BACK or is_owed(proposal):
        return proposal
    by_config = defers(moment.policy.tools.get(proposal.tool))
    if not (execution.windowed or execution.stages(by_config=by_config)):
        return proposal
    return note_owed(tx, moment, proposal, why)


def passes_or_waits(verdict: Verdict) -> bool:
    """Return whether no hard rule objects, or only with findings that pass by themselves: those
    take nothing back (ADR 0025)."""
    return all(finding.code in WAITABLE for _, finding in verdict.findings_at(Level.HARD))


def was_late(verdict: Verdict) -> bool:
    """Return whether the only lasting objection is that a rule did not end in time (ADR 0021).

    A large text may take too long on a busy machine: that ends nothing which people approved.
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
    """Bring an executing proposal under the policy in force; a hard finding rolls back.

    `owes`: its evidence is still to be judged by, under this very policy. That is so as well if its
    evidence has aged: under the former policy its objection may have mattered to nobody.
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
