"""Verdicts come back as they were written, and long ones fill no memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

from bot.storage.rows import proposal_of, row_of
from lifecycle.policy import Level
from lifecycle.sentinel import MOST_FINDINGS
from lifecycle.verdict import Finding, RuleResult, Verdict
from tests.builders import a_proposal

RULES = ("recipients_allowed", "secrets_absent", "prohibited_content")


def a_long_verdict(at_ms: int) -> Verdict:
    """What three rules say of a document that was made to have as many findings as one may."""
    words = "somebody@evil.example is outside of the domains that the config allows. " * 3
    findings = tuple(
        Finding("recipient_not_allowed", f"parameters.to[{number}]", words)
        for number in range(MOST_FINDINGS)
    )
    return Verdict(tuple(RuleResult(r, Level.HARD, findings) for r in RULES), at_ms, "pol1_a")


def test_long_verdicts_of_the_past_fill_no_memory() -> None:
    """A thousand were kept with their texts, a quarter of a megabyte each."""
    proposals = [a_proposal(verdict=a_long_verdict(number)) for number in range(20)]
    rows = [row_of(each) for each in proposals]
    tracemalloc.start()
    try:
        same = [proposal_of(row) == each for row, each in zip(rows, proposals, strict=True)]
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert all(same)
    assert kept_bytes < 500_000


def test_a_verdict_that_is_not_long_is_read_once() -> None:
    short = Verdict((RuleResult("secrets_absent", Level.HARD),), 1, "pol1_a")
    row = row_of(replace(a_proposal(), verdict=short))

    assert proposal_of(row).verdict is proposal_of(row).verdict
