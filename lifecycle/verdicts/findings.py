"""Tells which findings of a verdict pass by themselves, and whether one is new to the approvers."""

from __future__ import annotations

from typing import Final

from lifecycle.policy import Level
from lifecycle.proposal import Proposal
from lifecycle.verdict import Finding, Verdict

#: Findings that pass by themselves: the proposal waits instead of ending (design section 5).
WAITABLE: Final = frozenset({"evidence_stale", "outside_hours", "change_freeze"})
#: The code of a finding that a rule did not end in time.
LATE: Final = "rule_timeout"


def newly_soft(proposal: Proposal, verdict: Verdict) -> tuple[tuple[str, Finding], ...]:
    """Return the soft findings that people did not see when they approved, each with its rule."""
    seen = _told(proposal.verdict) if proposal.verdict else frozenset()
    found = verdict.findings_at(Level.SOFT)
    return tuple(each for each in found if _as_told(*each) not in seen)


def _told(verdict: Verdict) -> frozenset[tuple[str, str, str]]:
    return frozenset(_as_told(*each) for each in verdict.findings_at(Level.SOFT))


def _as_told(rule: str, finding: Finding) -> tuple[str, str, str]:
    return rule, finding.code, finding.path


def waits_for_rule(verdict: Verdict) -> str | None:
    """Return the code of the first hard finding if all hard findings pass by themselves.

    None if there is no hard finding, or one that does not pass.
    """
    codes = [finding.code for _, finding in verdict.findings_at(Level.HARD)]
    if codes and all(code in WAITABLE for code in codes):
        return codes[0]
    return None
