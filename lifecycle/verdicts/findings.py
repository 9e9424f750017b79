"""Tells which findings of a verdict pass by themselves, and whether one is new to the approvers."""

from __future__ import annotations

from typing import Final

from lifecycle.policy import Level
from lifecycle.proposal import Proposal
from lifecycle.verdict import Verdict

#: Findings that pass by themselves: the proposal waits instead of ending (design section 5).
WAITABLE: Final = frozenset({"evidence_stale", "outside_hours", "change_freeze"})


def newly_soft(proposal: Proposal, verdict: Verdict) -> bool:
    """Return True if the verdict has a soft finding that people did not see when they approved."""
    return not _soft(verdict) <= (_soft(proposal.verdict) if proposal.verdict else frozenset())


def _soft(verdict: Verdict) -> frozenset[tuple[str, str, str]]:
    found = verdict.findings_at(Level.SOFT)
    return frozenset((rule, finding.code, finding.path) for rule, finding in found)


def waits_for_rule(verdict: Verdict) -> str | None:
    """Return the code of the first hard finding if all hard findings pass by themselves.

    None if there is no hard finding, or one that does not pass.
    """
    codes = [finding.code for _, finding in verdict.findings_at(Level.HARD)]
    if codes and all(code in WAITABLE for code in codes):
        return codes[0]
    return None
