"""Which findings let a proposal wait, and which are news to those who approved it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.policy import Level
from lifecycle.verdict import Finding, RuleResult, Verdict
from lifecycle.verdicts.findings import newly_soft, waits_for_rule
from tests.builders import NOW_MS, POLICY_DIGEST, a_proposal


def found(level: Level, *codes: str, path: str = "") -> Verdict:
    """Return a verdict with a finding of each code, in this order."""
    findings = tuple(Finding(code, path, "look at it") for code in codes)
    return Verdict((RuleResult("evidence_bound", level, findings),), NOW_MS, POLICY_DIGEST)


@pytest.mark.parametrize(
    ("codes", "waits"),
    [
        ((), None),
        (("outside_hours",), "outside_hours"),
        (("evidence_stale", "change_freeze"), "evidence_stale"),
        (("change_freeze", "prohibited_phrase"), None),
        (("prohibited_phrase", "change_freeze"), None),
    ],
)
def test_a_proposal_waits_only_if_everything_that_stands_against_it_passes_by_itself(
    codes: tuple[str, ...], waits: str | None
) -> None:
    assert waits_for_rule(found(Level.HARD, *codes)) == waits


def test_a_soft_finding_lets_nothing_wait() -> None:
    assert waits_for_rule(found(Level.SOFT, "outside_hours")) is None


def test_a_soft_finding_is_news_unless_people_saw_it_there() -> None:
    seen = found(Level.SOFT, "odd", "strange", path="parameters.to")
    approved = replace(a_proposal(), verdict=seen)

    assert not newly_soft(approved, found(Level.SOFT, "odd", path="parameters.to"))
    assert newly_soft(approved, found(Level.SOFT, "odd", path="parameters.cc"))
    assert newly_soft(approved, found(Level.SOFT, "other", path="parameters.to"))
    assert newly_soft(replace(approved, verdict=None), seen)
