"""Laws of a test: rules that answer what they are told to, and how Sentinel is asked about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle.checking.rule_run import Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.sentinel import LoadedRule
from lifecycle.verdict import Finding, Verdict
from tests.builders import MAIL
from tests.checking import facts_for, read

FOUND = Finding("prohibited_phrase", "parameters.body", "Leave it out.")


class OneLaw:
    """A rule that answers what it is told to."""

    version = 1
    summary = "A law of a test."

    def __init__(self, name: str, answer: Callable[[], Any], *, applies: Any = True) -> None:
        self.id = name
        self._answer = answer
        self._applies = applies

    def applies_to(self, proposal: Any, facts: Any) -> Any:
        return self._applies() if callable(self._applies) else self._applies

    def check(self, proposal: Any, facts: Any) -> Any:
        return self._answer()


def law(
    name: str, answer: Callable[[], Any], level: Level = Level.HARD, applies: Any = True
) -> LoadedRule:
    return LoadedRule(OneLaw(name, answer, applies=applies), level)  # type: ignore[arg-type]


async def ask(*rules: LoadedRule, **options: Any) -> Verdict:
    sentinel = Sentinel(rules, workers=Workers(), **options)
    return await sentinel.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")


def codes_in(verdict: Verdict) -> dict[str, list[str]]:
    return {result.rule: [f.code for f in result.findings] for result in verdict.results}
