"""Builders of what tests begin with: the world of the cases' legend, at noon on a Monday."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from lifecycle.canonical import canonical_bytes, digest_of, r3_document, s256
from lifecycle.policy import (
    ActionType,
    Agent,
    ApprovalClass,
    Level,
    Person,
    Policy,
    Rate,
    RuleSettings,
    Safety,
    Source,
    ToolKind,
    ToolPolicy,
)
from lifecycle.proposal import ActorKind, Identity, Proposal
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, Tier

#: 2026-03-02T12:00:00Z, a Monday.
NOW_MS = 1_772_452_800_000
DAY_MS = 86_400_000
POLICY_DIGEST = "pol1_" + "0" * 64
#: Words of which a reader sees nothing: zero width, braille blank, joiner, selector, filler, tag.
UNSEEN = ("\u200b", "\u2800", "\u034f \ufe0f", "\u115f\u3164", "\U000e0041")

LEILA = Identity(ActorKind.AGENT, "leila")
NOUR = Identity(ActorKind.AGENT, "nour")
ANA = Identity(ActorKind.PERSON, "ana")
BEN = Identity(ActorKind.PERSON, "ben")
CAL = Identity(ActorKind.PERSON, "cal")
OLGA = Identity(ActorKind.PERSON, "olga")

#: leila sends a mail (PROPOSE, window of 900 s).
MAIL: dict[str, Any] = {
    "proposal_id": "p1",
    "ts_ms": NOW_MS,
    "actor": "leila",
    "tool": "send-email",
    "action_type": "communicate",
    "target": {
        "resource_type": "mailbox",
        "resource_id": "outbox",
        "domain": "shop.example",
        "constraints": {},
    },
    "parameters": {"to": "pat@partner.example", "subject": "Invoice 2847", "body": "Hello"},
    "approval_class": "none",
    "justification": "Pat asked for the new payment terms",
}
#: leila deploys to production (CONFIRM, one reviewer).
PROD: dict[str, Any] = {
    "proposal_id": "p1",
    "ts_ms": NOW_MS,
    "actor": "leila",
    "tool": "production-deploy",
    "action_type": "execute",
    "target": {
        "resource_type": "service",
        "resource_id": "www",
        "domain": "www.shop.example",
        "constraints": {},
    },
    "parameters": {"version": "v42"},
    "approval_class": "none",
    "justification": "Version 42 fixes the broken checkout",
}
#: leila pays money back (CONFIRM, carried out by the agent).
REFUND: dict[str, Any] = {
    "proposal_id": "p1",
    "ts_ms": NOW_MS,
    "actor": "leila",
    "tool": "issue-refund",
    "action_type": "transact",
    "target": {
        "resource_type": "payment",
        "resource_id": "order-17",
        "domain": "shop.example",
        "constraints": {},
    },
    "parameters": {"amount": "120.00", "currency": "USD"},
    "approval_class": "none",
    "justification": "The parcel of order 17 arrived broken",
}


def a_document(base: Mapping[str, Any] = MAIL, /, **changes: Any) -> dict[str, Any]:
    """Return a valid document of one's own; `changes` replace top-level keys, None removes one."""
    document = deepcopy(dict(base)) | changes
    return {key: value for key, value in document.items() if value is not None}


def a_tool(name: str, tier: Tier, action_type: ActionType, **changes: Any) -> ToolPolicy:
    """Return a tool that a writer may use, as a command that cannot be taken back."""
    defaults: dict[str, Any] = {"kind": ToolKind.COMMAND, "roles": frozenset({"writer"})}
    return ToolPolicy(name, tier, action_type, **(defaults | changes))


def _send_email() -> ToolPolicy:
    return a_tool(
        "send-email",
        Tier.PROPOSE,
        ActionType.COMMUNICATE,
        match={"resource_type": "mailbox"},
        kind=ToolKind.EMAIL,
        window_s=900,
        reversible=True,
        deferred=True,
        effects=("email",),
    )


def _production_deploy() -> ToolPolicy:
    return a_tool(
        "production-deploy",
        Tier.CONFIRM,
        ActionType.EXECUTE,
        kind=ToolKind.WEBHOOK,
        safety=Safety.DESTRUCTIVE,
        quorum_class=ApprovalClass.SINGLE,
        quorum_required=1,
        rate=Rate(2, 60),
        effects=("deploy",),
    )


def the_tools() -> dict[str, ToolPolicy]:
    """Return the seven tools of the example config."""
    tools = (
        a_tool("search", Tier.AUTO, ActionType.READ, roles=None, safety=Safety.READ, timeout_s=10),
        _send_email(),
        a_tool(
            "staging-deploy", Tier.PROPOSE, ActionType.EXECUTE, reversible=True, effects=("deploy",)
        ),
        _production_deploy(),
        a_tool(
            "delete-data",
            Tier.CONFIRM,
            ActionType.DELETE,
            safety=Safety.DESTRUCTIVE,
            effects=("delete",),
        ),
        a_tool(
            "issue-refund",
            Tier.CONFIRM,
            ActionType.TRANSACT,
            kind=ToolKind.AGENT,
            effects=("payment",),
        ),
        a_tool("financial-transfer", Tier.BLOCK, ActionType.TRANSACT, kind=None, roles=None),
    )
    return {tool.name: tool for tool in tools}


def the_people() -> dict[str, Person]:
    """Return ana and ben (approvers), cal (no group), olga (owns leila), dee (an approver)."""
    people = (
        Person(
            "ana",
            {"discord": "1001", "slack": "T1/UANA"},
            frozenset({"approvers", "operators"}),
            frozenset({"reader", "writer"}),
            terminal=True,
        ),
        Person(
            "ben",
            {"discord": "1002", "slack": "T1/UBEN"},
            frozenset({"approvers"}),
            terminal=True,
        ),
        Person("cal", {"discord": "1003", "slack": "T1/UCAL"}),
        Person("dee", {"discord": "1004"}, frozenset({"approvers"})),
        Person("olga", {"discord": "1005", "slack": "T1/UOLGA"}),
    )
    return {person.id: person for person in people}


def the_agents() -> dict[str, Agent]:
    """Return leila, who belongs to olga and speaks at the terminal, and nour."""
    roles = frozenset({"reader", "writer"})
    leila = Agent(
        "leila",
        {"discord": "911", "slack": "T1/ULEILA"},
        roles,
        owner="olga",
        terminal=True,
        token_env="SIGNOFF_TOKEN_LEILA",
    )
    return {"leila": leila, "nour": Agent("nour", {"discord": "912"}, roles)}


def the_rules() -> dict[str, RuleSettings]:
    """Return the settings of the nine rules as in the example config."""
    hours = {"zone": "Europe/Luxembourg", "days": ["mon", "tue", "wed", "thu"]}
    settings: dict[str, dict[str, Any]] = {
        "prohibited_content": {"phrases": ["final warning"], "patterns": []},
        "recipients_allowed": {"domains": ["shop.example", "partner.example"]},
        "deploy_target_allowed": {
            "targets": {
                "staging-deploy": ["staging.shop.example"],
                "production-deploy": ["www.shop.example"],
            }
        },
        "amount_within_limit": {
            "per_action": {"USD": "10000.00"},
            "per_agent_day": {"USD": "25000.00"},
        },
        "secrets_absent": {},
        "blast_radius_bounded": {
            "max_affected_records": 100,
            "roots": {"delete-data": "/srv/work"},
        },
        "reversible_when_required": {},
        "preconditions_hold": {"trusted_sources": ["crm-sensor"], "freshness_s": 300},
        "change_window_open": {
            "freezes": [],
            "hours": {"production-deploy": hours | {"from": "08:00", "to": "18:00"}},
        },
    }
    return {rule: RuleSettings(Level.HARD, given) for rule, given in settings.items()}


def a_policy(**changes: Any) -> Policy:
    """Return the policy of the legend: the example config, auto-approval off."""
    policy = Policy(
        digest=POLICY_DIGEST,
        tools=the_tools(),
        people=the_people(),
        agents=the_agents(),
        sources={"crm-sensor": Source("crm-sensor", terminal=True)},
        rules=the_rules(),
    )
    return replace(policy, **changes)


def a_proposal(document: Mapping[str, Any] = MAIL, /, **changes: Any) -> Proposal:
    """Return the record of an accepted document, still pending; `changes` replace its fields.

    `document` is MAIL, PROD, REFUND or what `a_document` made of them. Time is NOW, the deadline
    a day later.
    """
    tool = the_tools()[document["tool"]]
    canonical = canonical_bytes(document)
    content = digest_of(
        canonical_bytes({key: document[key] for key in ("actor", "tool", "target", "parameters")})
    )
    operation = {"tool": tool.name, "action_type": document["action_type"]}
    r3 = r3_document("signoff", operation, None, document["parameters"])
    proposal = Proposal(
        proposal_id=document["proposal_id"],
        version=1,
        state=State.PENDING,
        tier=tool.tier,
        tool_tier=tool.tier,
        tool=tool.name,
        actor=Identity(ActorKind.AGENT, document["actor"]),
        digest=digest_of(canonical),
        content_digest=content,
        likeness_digest=content,
        policy_digest=POLICY_DIGEST,
        document=canonical,
        r3_document=r3,
        r3_s256=s256(r3),
        surface="terminal",
        created_at_ms=NOW_MS,
        deadline_ms=NOW_MS + DAY_MS,
        quorum=max(TIER_POLICIES[tool.tier].quorum, tool.quorum_required),
        task_id=document.get("task_id"),
    )
    return replace(proposal, **changes)


def digest_value(text: str, *, excerpt_length: int = 120) -> dict[str, str]:
    """Return what an agent puts into a proposal in place of a large or sensitive text."""
    cut = text[:excerpt_length] + "…" if len(text) > excerpt_length else text
    return {"s256": s256(text.encode()), "excerpt": cut}
