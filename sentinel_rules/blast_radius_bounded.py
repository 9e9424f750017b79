"""What an action may reach is bounded, by its envelope and by the tool's own folder.

What it checks:
    With a risk envelope: every effect of the tool is among `allowed_side_effects` and none among
    `forbidden_effects`; `max_affected_records` is at most the configured number; the keys of
    `parameters.updates` are within the constraint `allowed_fields` and outside `forbidden_fields`,
    and what is forbidden is so at any depth and however it is spelt (`Role`, `role.name`,
    `user.role`); any other constraint is one that the tool says it enforces. With or without an
    envelope: for a tool with a root every path-like value of parameters, constraints and the target
    itself stays below it, without `..`, NUL, escapes, backslashes, a scheme, wildcards (`*`, `?`),
    options, a second path (`a,/x`) and what a shell replaces (`$HOME`, `` `id` ``), and so does the
    place that it really leads to. A tool of kind `command` or `python` runs on this machine: there
    a relative path in a field that is called one (`path`, `file_name`, `folder` and the like), and
    any that begins with `./` or as the root does, must lead below the root from the folder of the
    config, too; for `python` also from the folder in which the bot was started, where such a tool
    reads it. What stands behind a `=` is judged as a path if it begins like one (`of=/x`) or as the
    root does.

Why:
    A promise that nobody keeps must not look like one, and a path is judged by where it leads, not
    by how it begins.

Settings:
    max_affected_records: 100            the most records an envelope may allow, default 0.
    roots: {delete-data: /srv/work}      the folder that a tool's paths stay below.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, assert_never

from pydantic import AfterValidator, Field, NonNegativeInt

from lifecycle.document import ProposalDocument, RiskEnvelope
from lifecycle.paths import Parts, dotted
from lifecycle.policy import ToolKind
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.field_names import readings_of
from lifecycle.text.field_paths import fields_named
from lifecycle.text.folding import folded
from lifecycle.text.path_values import is_called_a_path, paths_of
from lifecycle.text.plain_paths import Root, names_another, root_at
from lifecycle.text.values import Place
from lifecycle.verdict import Finding

_ALLOWED: Final = "allowed_fields"
_FORBIDDEN: Final = "forbidden_fields"
#: Constraints that are enforced here or, for max_rows, by authority.
_ENFORCED: Final = frozenset({_ALLOWED, _FORBIDDEN, "max_rows"})
_UPDATES: Final = ("updates",)
#: A shell or a tool may turn these into other paths, which nobody has checked. `[id].tsx` and
#: `$slug.tsx` are names of files, and allowed.
_REPLACED: Final = re.compile(r"[*?`]|\$(?:[A-Z_]{2,}|[{(])|%[A-Z_]{2,}%|^\s*-")
#: The folder of the config, as `real_path` reads it.
_OF_THE_CONFIG: Final = "."


def _folder(root: str) -> str:
    if not root.startswith("/") or root.startswith("//") or posixpath.normpath(root) != root:
        raise ValueError(f"{root!r} must be an absolute, plain path, like /srv/work")
    if root == "/":
        raise ValueError("the root / holds everything: name a folder")
    return root


class BlastRadiusBounded:
    """The envelope bounds effects, records and fields; paths stay below the tool's root."""

    id: ClassVar[str] = "blast_radius_bounded"
    version: ClassVar[int] = 14
    summary: ClassVar[str] = "Effects, records, fields and paths stay within their bounds."

    class Options(RuleOptions):
        """The most records, and the folders of tools."""

        max_affected_records: NonNegativeInt = 0
        roots: dict[str, Annotated[str, AfterValidator(_folder)]] = Field(default_factory=dict)

    def __init__(self, options: Options) -> None:
        self._most = options.max_affected_records
        self._roots = dict(options.roots)

    @classmethod
    def tools_named(cls, options: Options) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return the places in the settings that name a tool, each with its name."""
        return tuple((("roots", tool), tool) for tool in options.roots)

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if there is an envelope, or a root for the tool."""
        return proposal.risk_envelope is not None or facts.tool.name in self._roots

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return a finding for everything that reaches too far."""
        found: list[Finding] = []
        if envelope := proposal.risk_envelope:
            found += _effects(envelope, facts)
            found += self._records(envelope)
            found += _fields(proposal)
            found += _unenforced(proposal, facts)
        if root := self._roots.get(facts.tool.name):
            found += _paths(proposal, root, facts)
        return said(found)

    def _records(self, envelope: RiskEnvelope) -> Iterator[Finding]:
        if not 0 <= envelope.max_affected_records <= self._most:
            words = f"At most {self._most} records may be affected: ask for no more than that."
            yield Finding("too_many_records", "risk_envelope.max_affected_records", words)

    passes: ClassVar[tuple[RuleCase, ...]] = ()
    fails: ClassVar[tuple[RuleCase, ...]] = ()


def _effects(envelope: RiskEnvelope, facts: Facts) -> Iterator[Finding]:
    forbidden, name = set(map(folded, envelope.forbidden_effects)), facts.tool.name
    for effect in facts.tool.effects:
        if folded(effect) in forbidden:
            words = f"The envelope forbids the effect {effect} of {name}: use another tool."
            yield Finding("effect_not_allowed", "risk_envelope.forbidden_effects", words)
        elif effect not in envelope.allowed_side_effects:
            words = f"{name} has the effect {effect}: allow it there, or use another tool."
            yield Finding("effect_not_allowed", "risk_envelope.allowed_side_effects", words)


def _fields(proposal: ProposalDocument) -> Iterator[Finding]:
    constraints = proposal.target.constraints
    bounded = constraints.get(_ALLOWED) is not None or constraints.get(_FORBIDDEN) is not None
    for key, updates in proposal.parameters.items() if bounded else ():
        if updates is None or _UPDATES not in readings_of(key):
            continue
        parts = ("parameters", key)
        if not isinstance(updates, dict):
            words = "Write updates as an object: the envelope bounds the fields that it may change."
            yield Finding("field_not_allowed", dotted(parts), words)
            continue
        for within in _unchangeable(updates, constraints):
            words = "The constraints do not let this field change: leave it out."
            yield Finding("field_not_allowed", dotted((*parts, *within)), words)


def _unchangeable(updates: dict[str, Any], constraints: dict[str, Any]) -> Iterator[Parts]:
    """Yield the fields that may not change: not among the allowed, or forbidden at any depth.

    A field is allowed only as it is written, and forbidden however it is spelt.
    """
    allowed, forbidden = constraints.get(_ALLOWED), constraints.get(_FORBIDDEN)
    if allowed is not None:
        listed = allowed if isinstance(allowed, list) else ()
        kept = {name for name in listed if isinstance(name, str)}
        yield from ((name,) for name in updates if name not in kept)
    if forbidden is None:
        return
    if not isinstance(forbidden, list):
        yield from ((name,) for name in updates)
        return
    yield from fields_named(updates, (name for name in forbidden if isinstance(name, str)))


def _unenforced(proposal: ProposalDocument, facts: Facts) -> Iterator[Finding]:
    for name in proposal.target.constraints:
        if name not in _ENFORCED and name not in facts.tool.constraints:
            words = f"{facts.tool.name} does not enforce this constraint: leave it out."
            yield Finding("constraint_not_enforced", dotted(("target", "constraints", name)), words)


def _paths(proposal: ProposalDocument, written: str, facts: Facts) -> Iterator[Finding]:
    root = root_at(written, facts.real_path, _starts(facts))
    for place in paths_of(proposal):
        if _REPLACED.search(place.value) or names_another(place.value):
            words = "A wildcard, variable, option or list is no path: write each path plainly."
            yield Finding("path_outside_root", place.path, words)
        elif not _stays_below(root, place):
            words = f"This path does not stay below {written}: write a plain, whole path below it."
            yield Finding("path_outside_root", place.path, words)


def _stays_below(root: Root, place: Place) -> bool:
    """Return True if a value leads below the root: all of it, and each word behind a `=`."""
    behind = filter(root.is_given_in, map(str.strip, place.value.split("=")[1:]))
    given = {w for each in behind for w in (each, *filter(root.is_given_in, each.split()))}
    whole = root.holds(place.value, called=is_called_a_path(place.parts))
    return whole and all(root.holds(path, called=path.startswith(".")) for path in given)


def _starts(facts: Facts) -> tuple[str, ...]:
    """Return the folders from which the tool may read relative paths; empty if that is not here.

    A program runs in the folder of the config. A class runs in the process of the bot, but may join
    paths to the folder of its module.
    """
    match facts.tool.kind:
        case ToolKind.COMMAND:
            return (_OF_THE_CONFIG,)
        case ToolKind.PYTHON:
            return (_OF_THE_CONFIG, facts.started_in)
        case ToolKind.EMAIL | ToolKind.WEBHOOK | ToolKind.AGENT | None:
            return ()
        case _:
            assert_never(facts.tool.kind)


def _case(title: str, changes: Any, code: str | None = None, /, **tool: Any) -> RuleCase:
    settings = {"max_affected_records": 100, "roots": {"delete-data": "/srv/work"}}
    return RuleCase(title, changes, settings, tool, code=code)


def _enveloped(constraints: Any = None, **changes: Any) -> dict[str, Any]:
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    return {
        "risk_envelope": envelope | changes,
        "parameters": {"updates": {"email": "pat@partner.example"}},
        "target": {
            "resource_type": "mailbox",
            "resource_id": "outbox",
            "domain": "shop.example",
            "constraints": constraints or {},
        },
    }


def _path(path: str, name: str = "path") -> dict[str, Any]:
    return {"action_type": "delete", "parameters": {name: path}}


def _target(resource_id: str, **constraints: Any) -> dict[str, Any]:
    target = {"resource_type": "records", "resource_id": resource_id, "domain": "shop.example"}
    return {"parameters": {}, "target": target | {"constraints": constraints}}


BlastRadiusBounded.passes = (
    _case("no envelope", {}),
    _case("as many records as may be", _enveloped(max_affected_records=100)),
    _case("within the envelope", _enveloped({"allowed_fields": ["email"]})),
    _case(
        "a constraint that the tool enforces", _enveloped({"region": "EU"}), constraints=("region",)
    ),
    _case("below the root", _path("/srv/work/./old//a.csv"), name="delete-data"),
    _case("a relative path", _path("old/a.csv"), name="delete-data"),
    _case("a word that gives one", _path("of=/srv/work/a.csv", "word"), name="delete-data"),
    _case("a name in brackets", _path("app/[id]/$slug.tsx"), name="delete-data"),
    _case("a note with a slash", _path("and/or, as you like", "note"), name="delete-data"),
    _case("a target that is no path", _target("leads-2024"), name="delete-data"),
    _case("a tool without a root", _path("/etc/passwd"), name="search"),
)
BlastRadiusBounded.fails = (
    _case("an effect not allowed", _enveloped(allowed_side_effects=[]), "effect_not_allowed"),
    _case("a forbidden effect", _enveloped(forbidden_effects=["email"]), "effect_not_allowed"),
    _case("too many records", _enveloped(max_affected_records=101), "too_many_records"),
    _case("a field outside", _enveloped({"allowed_fields": ["phone"]}), "field_not_allowed"),
    _case("a forbidden field", _enveloped({"forbidden_fields": ["email"]}), "field_not_allowed"),
    _case("one in odd case", _enveloped({"forbidden_fields": ["eMail"]}), "field_not_allowed"),
    _case(
        "a forbidden field as a path",
        _enveloped({"forbidden_fields": ["role"]})
        | {"parameters": {"updates": {"user.role": "admin"}}},
        "field_not_allowed",
    ),
    _case(
        "a name of updates in odd case",
        _enveloped({"forbidden_fields": ["email"]}) | {"parameters": {"uPDATES": {"email": "x"}}},
        "field_not_allowed",
    ),
    _case("an effect in odd case", _enveloped(forbidden_effects=["Email"]), "effect_not_allowed"),
    _case("an empty promise", _enveloped({"max_amount": 5}), "constraint_not_enforced"),
    *(
        _case(title, changes, "path_outside_root", name="delete-data")
        for title, changes in (
            ("up and away under any name", _path("q1 2026/../../../etc", "source")),
            ("a name in odd case", _path("/etc/my file", "pATH")),
            ("another place among the constraints", _target("leads", path="/etc/passwd")),
            ("another place as the target", _target("/etc/passwd")),
        )
    ),
    *(
        _case(title, _path(path), "path_outside_root", name="delete-data")
        for title, path in (
            ("up and away", "/srv/work/../../etc/passwd"),
            ("a folder with a longer name", "/srv/work-evil/x"),
            ("an escape", "/srv/work/%2e%2e/x"),
            ("NUL", "/srv/work/a\x00b"),
            ("a wildcard, which follows links", "/srv/work/*/x"),
            ("a variable", "$HOME/x"),
            ("an option", "--no-preserve-root"),
            ("a second path", "/srv/work/a:/etc/passwd"),
            ("a word that an option is", "of=/etc/passwd"),
            ("a home", "~/x"),
            ("another system's slash", "old\\..\\..\\x"),
        )
    ),
)
