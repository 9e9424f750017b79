"""A verdict holds what Sentinel's rules say: one result for each rule, with its findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lifecycle.codes import RULES
from lifecycle.errors import Fault
from lifecycle.policy import Level


@dataclass(frozen=True, slots=True)
class Finding:
    """One objection of one rule: a stable code, the place, and words.

    `level` is set only if a finding is softer or harder than its rule.
    """

    code: str
    path: str
    words: str
    level: Level | None = None


class _Passed(StrEnum):
    PASSED = "passed"


#: What a rule returns when its law holds.
PASSED = _Passed.PASSED


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule said; no finding means that its law holds."""

    rule: str
    level: Level
    findings: tuple[Finding, ...] = ()

    def level_of(self, finding: Finding) -> Level:
        """Return how hard `finding` counts."""
        return finding.level or self.level


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of all rules at one moment, under one policy; `clean` if nothing was found."""

    results: tuple[RuleResult, ...]
    at_ms: int
    policy_digest: str
    clean: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Look once whether there is any finding, because that is asked at every move."""
        object.__setattr__(self, "clean", not any(result.findings for result in self.results))

    def findings_at(self, level: Level) -> tuple[tuple[str, Finding], ...]:
        """Return (rule, finding) pairs of this level, in the order of the rules."""
        if self.clean:
            return ()
        return tuple(
            (result.rule, finding)
            for result in sorted(self.results, key=_rank)
            for finding in result.findings
            if result.level_of(finding) is level
        )

    @property
    def passed(self) -> bool:
        """True if no hard finding stands."""
        return not self.findings_at(Level.HARD)

    @property
    def needs_reason(self) -> bool:
        """True if a soft finding asks every review for a reason."""
        return bool(self.findings_at(Level.SOFT))

    @property
    def reason(self) -> str | None:
        """The id of the first rule with a hard finding, in the order of the table, or None."""
        hard = self.findings_at(Level.HARD)
        return hard[0][0] if hard else None

    def faults(self) -> tuple[Fault, ...]:
        """Return every finding as an item of `errors[]`, the hard ones first."""
        return tuple(
            Fault(
                finding.code, finding.path, suggestion=finding.words, rule=rule, level=level.value
            )
            for level in Level
            for rule, finding in self.findings_at(level)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the wire form, every rule named."""
        return {
            "passed": self.passed,
            "at_ms": self.at_ms,
            "policy_digest": self.policy_digest,
            "results": [
                {
                    "rule": result.rule,
                    "level": result.level.value,
                    "findings": [
                        {
                            "code": finding.code,
                            "path": finding.path,
                            "words": finding.words,
                            "level": result.level_of(finding).value,
                        }
                        for finding in result.findings
                    ],
                }
                for result in sorted(self.results, key=_rank)
            ],
        }


def _rank(result: RuleResult) -> tuple[int, str]:
    known = RULES.index(result.rule) if result.rule in RULES else len(RULES)
    return known, result.rule
