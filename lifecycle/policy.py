"""A policy is the law's frozen view of the config: who exists, which tools, which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, assert_never

from lifecycle.tier import Tier

#: The roles that a class of tool asks for if the tool names none of its own.
WRITERS: Final = frozenset({"writer", "admin"})
ADMINS: Final = frozenset({"admin"})
READERS_OF_SECRETS: Final = frozenset({"admin", "secrets_reader"})


class ActionType(StrEnum):
    """The ten categories of seed 000."""

    NAVIGATE = "navigate"
    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DELETE = "delete"
    EXECUTE = "execute"
    COMMUNICATE = "communicate"
    TRANSACT = "transact"
    APPROVE = "approve"
    CUSTOM = "custom"


class ApprovalClass(StrEnum):
    """How many people must approve (seed 000)."""

    NONE = "none"
    SINGLE = "single"
    DUAL = "dual"
    THRESHOLD = "threshold"


class Safety(StrEnum):
    """Agent-kernel's safety class of a tool (seed 004)."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class Sensitivity(StrEnum):
    """Agent-kernel's sensitivity of a tool (seed 004)."""

    NONE = "none"
    PII = "pii"
    PCI = "pci"
    SECRETS = "secrets"


class ToolKind(StrEnum):
    """How a tool is carried out (design section 7)."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    COMMAND = "command"
    PYTHON = "python"
    AGENT = "agent"


class Level(StrEnum):
    """How hard a finding of a rule counts."""

    HARD = "hard"
    SOFT = "soft"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True)
class Person:
    """A person: one entry under `people`, whatever the number of accounts.

    `accounts` maps a surface to the account id there; for Slack the id is `team/user`.
    """

    id: str
    accounts: Mapping[str, str] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)
    open_limit: int = 10
    terminal: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """A configured agent; `owner` is the id of the person who may stop its proposals."""

    id: str
    accounts: Mapping[str, str] = field(default_factory=dict)
    roles: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    open_limit: int = 10
    terminal: bool = False
    token_env: str | None = None
    callback_url: str | None = None
    callback_secret_env: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Who may record evidence; never an agent."""

    id: str
    accounts: Mapping[str, str] = field(default_factory=dict)
    terminal: bool = False
    token_env: str | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` accepted evaluations within `per_s` seconds."""

    count: int
    per_s: int


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What the operator decided about one tool; `settings` holds what its kind alone reads."""

    name: str
    tier: Tier
    action_type: ActionType
    kind: ToolKind | None = None
    match: Mapping[str, str] = field(default_factory=dict)
    roles: frozenset[str] | None = None
    reviewers: str = "approvers"
    window_s: int | None = None
    reversible: bool = False
    deferred: bool = False
    idempotent: bool = False
    timeout_s: int = 30
    effects: tuple[str, ...] = ()
    safety: Safety = Safety.WRITE
    sensitivity: Sensitivity = Sensitivity.NONE
    quorum_class: ApprovalClass = ApprovalClass.NONE
    quorum_required: int = 0
    rate: Rate | None = None
    parameters: Mapping[str, Any] | None = None
    constraints: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> dict[str, str]:
        """What `match` asks of a proposal's target; its `action_type` is no part of one."""
        return {key: value for key, value in self.match.items() if key != "action_type"}


def roles_asked(tool: ToolPolicy) -> tuple[frozenset[str], ...]:
    """Return sets of roles; whoever proposes `tool` needs one of each, as authority judges it."""
    if tool.roles is not None:
        return (tool.roles,)
    secrets = (READERS_OF_SECRETS,) if tool.sensitivity is Sensitivity.SECRETS else ()
    match tool.safety:
        case Safety.READ:
            return secrets
        case Safety.WRITE:
            return (WRITERS, *secrets)
        case Safety.DESTRUCTIVE:
            return (ADMINS, *secrets)
        case _:
            assert_never(tool.safety)


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """One entry under `sentinel`: how hard a rule is and what it is given."""

    level: Level
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of design section 4 and 6; times are in seconds, rates in uses a minute."""

    proposal_ttl_s: int = 86_400
    refusal_binds_s: int = 3_600
    clock_skew_s: int = 600
    longest_window_s: int = 604_800
    rate: Mapping[Safety, int] = field(
        default_factory=lambda: {Safety.READ: 60, Safety.WRITE: 10, Safety.DESTRUCTIVE: 2}
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything the law needs to know of the config; `digest` is `policyDigest` (pol1_…)."""

    digest: str
    tools: Mapping[str, ToolPolicy]
    people: Mapping[str, Person] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    rules: Mapping[str, RuleSettings] = field(default_factory=dict)
    limits: Limits = Limits()
    orchestrator: str | None = None
    auto_approval_tiers: frozenset[Tier] = frozenset()
    solo_operator: bool = False

    def group(self, name: str) -> frozenset[str]:
        """Return the ids of the people in group `name`."""
        return frozenset(p.id for p in self.people.values() if name in p.groups)

    def reviewers_of(self, tool: ToolPolicy) -> frozenset[str]:
        """Return the ids of the people who may approve what `tool` does."""
        return self.group(tool.reviewers)

    def owner_of(self, proposer: str) -> str | None:
        """Return the person who owns the agent `proposer`, if it is an agent with an owner."""
        agent = self.agents.get(proposer)
        return agent.owner if agent else None
