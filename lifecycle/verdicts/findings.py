"""Says which findings of a verdict pass by themselves, and which ones people did not know of."""

from __future__ import annotations

from typing import Final

from lifecycle.policy import Level
from lifecycle.proposal import Proposal
from lifecycle.verdict import Verdict

#: Findings that pass by themselves: the proposal waits instead of ending (design section 5).
WAITABLE: Final = frozenset({"evidence_stale", "outside_hours", "change_freeze"})


def newly_soft(proposal: Proposal, verdict: Verdict) -> bool:
    """Return whether a soft finding stands that people did not know of when they approved."""
    return not _soft(verdict) <= (_soft(proposal.verdict) if proposal.verdict else frozenset())


def _soft(verdict: Verdict) -> frozenset[tuple[str, str, str]]:
    found = verdict.findings_at(Level.SOFT)
    return frozenset((rule, finding.code, finding.path) for rule, finding in found)


def waits_for_rule(verdict: Verdict) -> str | None:
    """Return the code of a finding that passes by itself, if no other hard finding stands."""
    codes = [finding.code for _, finding in verdict.findings_at(Level.HARD)]
    if codes and all(code in WAITABLE for code in codes):
        return codes[0]
    return None
