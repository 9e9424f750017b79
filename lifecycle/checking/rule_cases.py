"""Run a rule's own cases: a rule that fails one of them cannot be loaded (design section 5)."""

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

#: The document that each case changes: leila wants to send a mail.
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
    """A case describes something that does not exist; the message names the place and the fault."""


def options_of(rule: type[Rule], settings: Any) -> Any:
    """Return a rule's options, read from its settings, which are JSON values or moments in time.

    Raises pydantic's ValidationError for settings that the options do not have.
    """
    return rule.Options.model_validate_json(orjson.dumps(settings))


def outcome_of(rule: type[Rule], case: RuleCase) -> tuple[Finding, ...]:
    """Return what the rule finds in the case; empty if its law holds.

    It is asked as Sentinel asks it: what would be `rule_error` there is `rule_error` here. Raises
    CaseUnread if the case describes no document, no facts or no settings of the rule.
    """
    document, facts = world_of(case)
    try:
        options = options_of(rule, dict(case.settings))
    except ValidationError as error:
        raise CaseUnread(_first(error, "settings")) from None
    return judged(LoadedRule(rule(options), Level.HARD), document, facts).findings


def world_of(case: RuleCase) -> tuple[ProposalDocument, Facts]:
    """Return the document and the facts that the case describes. Raises CaseUnread."""
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
    """Return the place and the words of the first fault in a part of a case."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = dotted((where, *fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"{place} does not exist"
    return f"{place}: {fault['msg']}"


def _like(name: str, known: list[str]) -> str:
    found = nearest(name, known)
    return f" (it may mean {found})" if found else ""
