"""This package has the business rules: one file a rule, law, documentation and proof together."""

from __future__ import annotations

from sentinel_rules.loading import (
    RuleLoadError,
    RuleProblem,
    load_rules,
    page_of,
    rule_index,
    sources_named,
    tools_named,
)

__all__ = [
    "RuleLoadError",
    "RuleProblem",
    "load_rules",
    "page_of",
    "rule_index",
    "sources_named",
    "tools_named",
]
