"""Asking the rules about a document, as the tests of rules and cases do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import orjson

from lifecycle.checking.sentinel_run import Sentinel, judged
from lifecycle.document import ProposalDocument
from lifecycle.policy import Level, RuleSettings
from lifecycle.sentinel import Facts
from lifecycle.verdict import Verdict
from sentinel_rules import load_rules
from tests.builders import NOW_MS, the_rules, the_tools


@cache
def the_sentinel() -> Sentinel:
    """Sentinel with the nine rules of the example config."""
    return Sentinel(load_rules(the_rules()))


def sentinel_with(rule: str, **settings: Any) -> Sentinel:
    """Sentinel whose settings differ in one rule."""
    rules = the_rules() | {rule: RuleSettings(Level.HARD, settings)}
    return Sentinel(load_rules(rules))


def read(document: Mapping[str, Any]) -> ProposalDocument:
    """Read a document as the store would give it back."""
    return ProposalDocument.model_validate_json(orjson.dumps(document))


def facts_for(document: Mapping[str, Any], **changes: Any) -> Facts:
    """What is known about a document of one of the seven tools at noon."""
    tool = the_tools()[document["tool"]]
    known: dict[str, Any] = {
        "now_ms": NOW_MS,
        "tool": tool,
        "tier": tool.tier,
        "proposer": document["actor"],
    }
    return Facts(**(known | changes))


def verdict_on(
    document: Mapping[str, Any], sentinel: Sentinel | None = None, **facts: Any
) -> Verdict:
    """Ask all rules about a document."""
    asked = sentinel or the_sentinel()
    return every_rule(asked, read(document), facts_for(document, **facts))


def every_rule(
    sentinel: Sentinel,
    document: ProposalDocument,
    facts: Facts,
    *,
    policy_digest: str = "pol1_x",
    subset: Collection[str] | None = None,
) -> Verdict:
    """Ask all rules, or a subset, one by one, on the calling thread, however long one takes."""
    asked = (rule for rule in sentinel.rules if subset is None or rule.id in subset)
    results = tuple(judged(rule, document, facts) for rule in asked)
    return Verdict(results, facts.now_ms, policy_digest)


def found(
    document: Mapping[str, Any], sentinel: Sentinel | None = None, **facts: Any
) -> set[tuple[str, str, str]]:
    """Return (rule, code, path) of everything that is found."""
    verdict = verdict_on(document, sentinel, **facts)
    return {
        (result.rule, finding.code, finding.path)
        for result in verdict.results
        for finding in result.findings
    }
