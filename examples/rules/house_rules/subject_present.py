"""Every mail has a subject, and a short one.

What it checks:
    In `communicate` tools `subject` is a text that is not blank and not longer than allowed.

Why:
    Reviewers decide by the subject, and a long one is cut off on a phone.

Settings:
    longest: 60   the most characters, default 60.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import PositiveInt

from lifecycle.document import ProposalDocument
from lifecycle.policy import ActionType
from lifecycle.sentinel import Facts, RuleCase, RuleOptions
from lifecycle.verdict import PASSED, Finding


class SubjectPresent:
    """A mail says what it is about."""

    id: ClassVar[str] = "subject_present"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "Every mail has a short subject."

    class Options(RuleOptions):
        """How long a subject may be."""

        longest: PositiveInt = 60

    def __init__(self, options: Options) -> None:
        """Take the settings."""
        self._longest = options.longest

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Say whether the tool sends something to somebody."""
        return proposal.action_type is ActionType.COMMUNICATE

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Find a subject that is absent, blank or too long."""
        subject = proposal.parameters.get("subject")
        if not isinstance(subject, str) or not subject.strip():
            return Finding("subject_missing", "parameters.subject", "Write a subject.")
        if len(subject) > self._longest:
            words = f"Write a subject of at most {self._longest} characters."
            return Finding("subject_too_long", "parameters.subject", words)
        return PASSED

    passes: ClassVar[tuple[RuleCase, ...]] = (RuleCase("a short subject"),)
    fails: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("no subject", {"parameters": {"body": "Hello"}}, code="subject_missing"),
        RuleCase("too long", settings={"longest": 3}, code="subject_too_long"),
    )
