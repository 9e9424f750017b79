"""A rule's own cases, run: a rule that misses one of them cannot load (design section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

import orjson
from pydantic import ValidationError

from lifecycle.checking.sentinel_run import judged
from lifecycle.document import ProposalDocument
from lifecycle.nearest import nearest
from lifecycle.paths import dotted
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


_Changed = TypeVar("_Changed", ToolPolicy, Facts)


class CaseUnread(Exception):
    """What a case describes does not exist; the words name the place in it and what is wrong."""


def options_of(rule: type[Rule], settings: Any) -> Any:
    """Read a rule's settings, which are JSON values or moments in time.

    Raises pydantic's ValidationError for what the rule's options do not know.
    """
    return rule.Options.model_validate_json(orjson.dumps(settings))


def outcome_of(rule: type[Rule], case: RuleCase) -> tuple[Finding, ...]:
    """Return what the rule finds in the case, none where its law holds.

    It is asked as Sentinel asks it: what would be `rule_error` there is `rule_error` here.
    Raises CaseUnread where the case describes no document, no facts or no settings of the rule.
    """
    document, facts = world_of(case)
    try:
        options = options_of(rule, dict(case.settings))
    except ValidationError as error:
        raise CaseUnread(_first(error, "settings")) from None
    return judged(LoadedRule(rule(options), Level.HARD), document, facts).findings


def world_of(case: RuleCase) -> tuple[ProposalDocument, Facts]:
    """Return the document and the facts that the case describes; raises CaseUnread."""
    content = _DOCUMENT | dict(case.proposal)
    try:
        document = ProposalDocument.model_validate_json(orjson.dumps(content))
    except ValidationError as error:
        raise CaseUnread(_first(error, "proposal")) from None
    except orjson.JSONEncodeError as error:
        raise CaseUnread(f"proposal is no JSON ({error})") from None
    tool = _changed(_TOOL, {"action_type": document.action_type} | dict(case.tool), "tool")
    return document, _changed(_FACTS, {"tool": tool, "tier": tool.tier} | dict(case.facts), "facts")


def _changed(whole: _Changed, changes: Mapping[str, Any], where: str) -> _Changed:
    known = [field.name for field in fields(whole)]
    for name in changes:
        if name not in known:
            raise CaseUnread(f"{where}.{name} does not exist{_like(name, known)}")
    return replace(whole, **changes)


def _first(error: ValidationError, where: str) -> str:
    """Tell the first fault of a part of a case: where it is, and what."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = dotted((where, *fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"{place} does not exist"
    return f"{place}: {fault['msg']}"


def _like(name: str, known: list[str]) -> str:
    found = nearest(name, known)
    return f" (it may mean {found})" if found else ""
