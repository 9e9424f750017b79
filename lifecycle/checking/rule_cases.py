"""A rule's own cases, run: a rule that misses one of them cannot load (design section 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import orjson

from lifecycle.checking.sentinel_run import judged
from lifecycle.document import ProposalDocument
from lifecycle.policy import ActionType, Level, ToolKind, ToolPolicy
from lifecycle.sentinel import Facts, LoadedRule, Rule, RuleCase
from lifecycle.tier import Tier
from lifecycle.verdict import Finding

#: 2026-03-02T12:00:00Z, a Monday.
NOON_MS: Final = 1_772_452_800_000

#: What a case begins with: leila wants to send a mail.
_DOCUMENT: Final[dict[str, Any]] = {
    "proposal_id": "p1",
    "ts_ms": NOON_MS,
    "actor": "leila",
    "action_type": "communicate",
    "target": {
        "resource_type": "mailbox",
        "resource_id": "outbox",
        "domain": "shop.example",
        "constraints": {},
    },
    "parameters": {"to": "pat@partner.example", "subject": "Invoice 2847", "body": "Hello"},
    "tool": "send-email",
    "justification": "Pat asked for the new payment terms",
}
_TOOL: Final = ToolPolicy(
    name="send-email",
    tier=Tier.PROPOSE,
    action_type=ActionType.COMMUNICATE,
    kind=ToolKind.EMAIL,
    window_s=900,
    reversible=True,
    deferred=True,
    effects=("email",),
)
_FACTS: Final = Facts(now_ms=NOON_MS, tool=_TOOL, tier=Tier.PROPOSE, proposer="leila")


def options_of(rule: type[Rule], settings: Any) -> Any:
    """Read a rule's settings, which are JSON values or moments in time.

    Raises pydantic's ValidationError for what the rule's options do not know.
    """
    return rule.Options.model_validate_json(orjson.dumps(settings))


def outcome_of(rule: type[Rule], case: RuleCase) -> tuple[Finding, ...]:
    """Return what the rule finds in the case, none where its law holds.

    It is asked as Sentinel asks it: what would be `rule_error` there is `rule_error` here.
    """
    document, facts = world_of(case)
    judge = rule(options_of(rule, dict(case.settings)))
    return judged(LoadedRule(judge, Level.HARD), document, facts).findings


def world_of(case: RuleCase) -> tuple[ProposalDocument, Facts]:
    """Return the document and the facts that the case describes."""
    content = _DOCUMENT | dict(case.proposal)
    document = ProposalDocument.model_validate_json(orjson.dumps(content))
    changes: dict[str, Any] = {"action_type": document.action_type} | dict(case.tool)
    tool = replace(_TOOL, **changes)
    known: dict[str, Any] = {"tool": tool, "tier": tool.tier} | dict(case.facts)
    return document, replace(_FACTS, **known)
