"""A deployment goes exactly where that tool may deploy.

What it checks:
    For tools listed in `targets` and every tool named `*-deploy`: `target.domain` is, character for
    character, one of the tool's targets, and every `target host url domain` among the parameters
    and the target's constraints, at any depth, is equal to it.

Why:
    `staging.shop.example@evil.test`, a trailing dot, a port or another letter case lead elsewhere
    or nowhere, and prefixes and patterns admit them. Names out of a short list do not.

Settings:
    targets: {staging-deploy: [staging.shop.example]}   by tool. A deploy tool without targets
        deploys nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field

from lifecycle.document import ProposalDocument
from lifecycle.policy import ActionType
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.values import CONSTRAINTS, PARAMETERS, Place, named_in
from lifecycle.verdict import Finding

_SUFFIX: Final = "-deploy"
_SAY_WHERE: Final = frozenset({"target", "host", "url", "domain"})
_CODE: Final = "target_not_allowed"


def _names_a_place(target: str) -> str:
    if not target.strip() or target != target.strip():
        raise ValueError("a target is the name of a place, without blanks around it")
    if "://" in target:
        raise ValueError(
            f"{target!r} is an address: write what stands in target.domain alone, like "
            "staging.shop.example"
        )
    return target


def _places_named(proposal: ProposalDocument) -> Iterator[Place]:
    """Yield what names a place in parameters and constraints, which a tool is handed as well."""
    yield from named_in(proposal.parameters, PARAMETERS, _SAY_WHERE)
    yield from named_in(proposal.target.constraints, CONSTRAINTS, _SAY_WHERE)


class DeployTargetAllowed:
    """The target of a deployment is one of the tool's targets, and named the same everywhere."""

    id: ClassVar[str] = "deploy_target_allowed"
    version: ClassVar[int] = 6
    timeless = True
    summary: ClassVar[str] = "A deployment goes exactly to one of the tool's own targets."

    class Options(RuleOptions):
        """The targets of each deploying tool."""

        targets: dict[str, tuple[Annotated[str, AfterValidator(_names_a_place)], ...]] = Field(
            default_factory=dict
        )

    def __init__(self, options: Options) -> None:
        self._targets = {tool: frozenset(names) for tool, names in options.targets.items()}

    @classmethod
    def tools_named(cls, options: Options) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return the places in the settings that name a tool, each with its name."""
        return tuple((("targets", tool), tool) for tool in options.targets)

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if the tool deploys."""
        return facts.tool.name in self._targets or facts.tool.name.endswith(_SUFFIX)

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return findings for a target not allowed, and for values that name another place."""
        return said(self._findings(proposal, facts.tool.name))

    def _findings(self, proposal: ProposalDocument, tool: str) -> Iterator[Finding]:
        allowed = self._targets.get(tool, frozenset())
        target = proposal.target.domain
        if target not in allowed:
            choice = " or ".join(sorted(allowed)) or "nowhere: it has no targets"
            words = f"{tool} does not deploy there: it deploys to {choice}."
            yield Finding(_CODE, "target.domain", words)
        words = "This names another place than target.domain: write the same, or nothing."
        for place in _places_named(proposal):
            if place.value != target:
                yield Finding(_CODE, place.path, words)

    passes: ClassVar[tuple[RuleCase, ...]] = tuple(
        RuleCase(
            name,
            {
                "action_type": "execute",
                "target": {
                    "resource_type": "service",
                    "resource_id": "www",
                    "domain": "staging.shop.example",
                    "constraints": {},
                },
                "parameters": parameters,
            },
            {"targets": {"staging-deploy": ["staging.shop.example"]}},
            {"name": tool, "action_type": ActionType.EXECUTE},
        )
        for name, tool, parameters in (
            ("an allowed target", "staging-deploy", {"version": "v42"}),
            ("the same host again", "staging-deploy", {"host": "staging.shop.example"}),
            ("a tool that deploys nothing", "search", {"url": "https://elsewhere.test"}),
        )
    )
    fails: ClassVar[tuple[RuleCase, ...]] = tuple(
        RuleCase(
            name,
            {
                "action_type": "execute",
                "target": {
                    "resource_type": "service",
                    "resource_id": "www",
                    "domain": domain,
                    "constraints": {"host": "evil.test"} if "constraints" in name else {},
                },
                "parameters": parameters,
            },
            {"targets": targets},
            {"name": "staging-deploy", "action_type": ActionType.EXECUTE},
            code=_CODE,
        )
        for name, domain, parameters, targets in (
            ("no targets at all", "staging.shop.example", {}, {}),
            (
                "another host under a name in odd case",
                "staging.shop.example",
                {"hOST": "evil.test"},
                {"staging-deploy": ["staging.shop.example"]},
            ),
            (
                "a trailing dot",
                "staging.shop.example.",
                {},
                {"staging-deploy": ["staging.shop.example"]},
            ),
            (
                "the address of somebody else",
                "https://staging.shop.example@evil.test/",
                {},
                {"staging-deploy": ["staging.shop.example"]},
            ),
            (
                "another host among the constraints",
                "staging.shop.example",
                {},
                {"staging-deploy": ["staging.shop.example"]},
            ),
            (
                "another host among the parameters",
                "staging.shop.example",
                {"options": [{"host": "evil.test"}]},
                {"staging-deploy": ["staging.shop.example"]},
            ),
        )
    )
