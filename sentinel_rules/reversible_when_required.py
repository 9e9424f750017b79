"""What must be reversible is done by a tool that can take it back.

What it checks:
    Where the risk envelope says `reversible_required`, or the tier has a rollback window (PROPOSE,
    and CONFIRM for a tool with `window_s`), the tool can roll back.

Why:
    A window in which nothing can be taken back is a promise to the reviewers that nobody keeps.

Settings:
    none.
"""

from __future__ import annotations

from typing import Any, ClassVar

from lifecycle.document import ProposalDocument
from lifecycle.sentinel import Facts, RuleCase, RuleOptions
from lifecycle.tier import Tier
from lifecycle.verdict import PASSED, Finding
from lifecycle.windows import window_of


class ReversibleWhenRequired:
    """A tool that cannot roll back does nothing that must be reversible."""

    id: ClassVar[str] = "reversible_when_required"
    version: ClassVar[int] = 1
    timeless = True
    summary: ClassVar[str] = "What must be reversible is done by a tool that can roll back."

    class Options(RuleOptions):
        """Nothing can be set."""

    def __init__(self, options: Options) -> None:
        """Take the options, of which there are none."""

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if the envelope or the tier asks for a way back."""
        return _is_asked(proposal) or window_of(facts.tool, facts.tier) > 0

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return a finding if the tool cannot roll back."""
        if facts.tool.reversible:
            return PASSED
        asked = _is_asked(proposal)
        path = "risk_envelope.reversible_required" if asked else "tool"
        why = "the envelope asks for a way back" if asked else "its tier has a rollback window"
        words = f"{facts.tool.name} cannot roll back, and {why}: use a tool that can."
        return Finding("not_reversible", path, words)

    passes: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("a tool that can roll back"),
        RuleCase("nobody asks", tool={"reversible": False, "window_s": None, "tier": Tier.CONFIRM}),
    )
    fails: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("a window", tool={"reversible": False}, code="not_reversible"),
        RuleCase(
            "the envelope asks",
            {
                "risk_envelope": {
                    "allowed_side_effects": ["email"],
                    "forbidden_effects": [],
                    "max_affected_records": 1,
                    "reversible_required": True,
                }
            },
            tool={"reversible": False, "window_s": None, "tier": Tier.CONFIRM},
            code="not_reversible",
        ),
    )


def _is_asked(proposal: ProposalDocument) -> bool:
    return proposal.risk_envelope is not None and proposal.risk_envelope.reversible_required
