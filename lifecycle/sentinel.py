"""Defines what a rule is for Sentinel, what facts it is given, and how its own cases look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Final, Protocol

from pydantic import BaseModel, ConfigDict, field_validator

from lifecycle.document import ProposalDocument
from lifecycle.policy import Level, ToolPolicy
from lifecycle.records import EvidencePacket
from lifecycle.tier import Tier
from lifecycle.verdict import PASSED, Finding


def _same_path(path: str) -> str:
    return path


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may know beside the proposal. Times in ms UTC.

    - `spent`: what the proposer's open and completed proposals of the last 24 h hold by currency,
      infinite if a row of it cannot be read (under `records.ANY_CURRENCY` if it may be of each),
      this one and later ones without a verdict left out
    - `evidence`: the recorded packets that the proposal names
    - `real_path`: follows links; returns the path unchanged if nothing can be looked at
    - `executing`: true for the check right before execution
    - `started_in`: the folder in which the bot runs, "" if that is not known
    """

    now_ms: int
    tool: ToolPolicy
    tier: Tier
    proposer: str
    spent: Mapping[str, Decimal] = field(default_factory=dict)
    evidence: Mapping[str, EvidencePacket] = field(default_factory=dict)
    real_path: Callable[[str], str] = _same_path
    executing: bool = False
    started_in: str = ""

    def looking(self, real_path: Callable[[str], str]) -> Facts:
        """Return the same facts with another way to look at a path."""
        return replace(self, real_path=real_path)


class RuleOptions(BaseModel):
    """The typed settings of a rule; subclasses name the keys, unknown keys stop the start."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _written(cls, value: Any) -> Any:
        """Raise ValueError for null, as everywhere in the config: a freeze with an empty `tools`,
        whose names somebody was to fill in, would be one of all tools."""
        if value is None:
            raise ValueError("nothing is written here; give it a value, or take the key out")
        return value


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A rule's own case: changes to a valid proposal, settings and facts, and what the rule finds.

    `proposal` is merged (top level keys replace) into a valid document; `tool` replaces fields of
    the tool's policy; `facts` replaces fields of the facts. `code` is the finding's code for a case
    that fails, None for one that passes.
    """

    name: str
    proposal: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    tool: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None


class Rule(Protocol):
    """One business law. It is built once from its settings, and pure.

    A rule of Signoff's own that looks neither at `facts.now_ms` nor outside may say `timeless =
    True` (ADR 0010); a rule from elsewhere is not believed in that.

    A rule whose settings name tools may have a class method `tools_named(options)` that returns
    pairs of the path in the settings and the tool's name; the config checks that they exist.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    summary: ClassVar[str]
    Options: ClassVar[type[RuleOptions]]
    passes: ClassVar[tuple[RuleCase, ...]]
    fails: ClassVar[tuple[RuleCase, ...]]

    def __init__(self, options: Any) -> None:
        """Take the settings, already read."""

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return whether the law concerns this proposal at all."""

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return PASSED, a Finding, or a tuple of all findings; anything else is rule_error."""


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """A rule with its settings as read, and how hard its findings count.

    `own` marks the rules that come with Signoff; `timeless` is true for those of them that say that
    they look neither at the time nor outside.
    """

    rule: Rule
    level: Level
    options: Any = None
    own: bool = False
    id: str = field(init=False)
    timeless: bool = field(init=False)

    def __post_init__(self) -> None:
        """Read once what the rule says of itself."""
        object.__setattr__(self, "id", self.rule.id)
        object.__setattr__(self, "timeless", self.own and getattr(self.rule, "timeless", False))


#: More findings of one rule help nobody, and a hostile document could hold thousands.
MOST_FINDINGS: Final = 100


def said(findings: Iterable[Finding]) -> Any:
    """Return what a rule says: its findings, or PASSED if there are none.

    It looks no further after 100 that are as hard as the rule; softer ones never end the search.
    """
    kept: list[Finding] = []
    firm = 0
    for finding in findings:
        firm += finding.level is None
        if finding.level is None or len(kept) - firm < MOST_FINDINGS:
            kept.append(finding)
        if firm == MOST_FINDINGS:
            break
    return tuple(kept) or PASSED
