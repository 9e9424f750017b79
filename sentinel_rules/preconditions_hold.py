"""Every precondition is true in evidence that is trusted and fresh.

What it checks:
    For every precondition: its evidence is on record, comes from a trusted source, is fresh, and
    makes it true. `eq` and `ne` compare JSON values with their type, `gt` and `lt` numbers,
    `contains` finds a substring or a member, `matches` is RE2 over the whole text; `field` is a
    dotted path into the payload. What is absent, null or of the wrong type makes it false, for `ne`
    too. Evidence that a binding requires must be on record, trusted and fresh as well. What one
    proposal asks to be searched is bounded: beyond some 0.1 s in all, nothing is found.

Why:
    An agent may be mistaken about the world, or be told wrong things. What must be true is shown by
    somebody who looked, not said by whoever wants it.

Settings:
    trusted_sources: [crm-sensor]   whose evidence counts, default nobody's.
    freshness_s: 300                how old evidence may be, in seconds; a binding's `freshness_ms`
        only shortens it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Final

from pydantic import PositiveInt

from lifecycle.canonical import canonical_bytes
from lifecycle.document import Precondition, ProposalDocument
from lifecycle.records import EvidencePacket
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.patterns import Searches
from lifecycle.verdict import Finding

_ABSENT: Final = object()
_TOO_MUCH: Final = (
    "This is more searching than one proposal may ask for: ask less, in shorter patterns."
)


class PreconditionsHold:
    """Preconditions are true in trusted, fresh evidence."""

    id: ClassVar[str] = "preconditions_hold"
    version: ClassVar[int] = 3
    summary: ClassVar[str] = "Every precondition is true in trusted, fresh evidence."

    class Options(RuleOptions):
        """Whose evidence counts, and for how long."""

        trusted_sources: tuple[str, ...] = ()
        freshness_s: PositiveInt = 300

    def __init__(self, options: Options) -> None:
        self._trusted = frozenset(options.trusted_sources)
        self._freshness_ms = options.freshness_s * 1000

    @classmethod
    def sources_named(cls, options: Options) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Return the places in the settings that name a source, each with its name."""
        return tuple(
            (("trusted_sources", index), source)
            for index, source in enumerate(options.trusted_sources)
        )

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if the proposal relies on evidence."""
        return bool(proposal.preconditions or proposal.evidence_bindings)

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return findings for preconditions that do not hold, and evidence that does not count."""
        asked = proposal.freshness_asked()
        found = self._preconditions(proposal, facts, asked), self._bindings(proposal, facts, asked)
        return said(chain(*found))

    def _preconditions(
        self, proposal: ProposalDocument, facts: Facts, asked: Mapping[str, int]
    ) -> Iterator[Finding]:
        members, searches = _Members(), Searches()
        for index, condition in enumerate(proposal.preconditions):
            path = f"preconditions[{index}]"
            packet = facts.evidence.get(condition.evidence_ref)
            fault = self._fault(packet, facts, asked.get(condition.evidence_ref))
            if fault:
                yield Finding(fault[0], f"{path}.evidence_ref", fault[1])
            elif packet is None or not _holds(condition, packet.payload, members, searches):
                yield Finding("precondition_false", path, _why_not(condition, searches))

    def _bindings(
        self, proposal: ProposalDocument, facts: Facts, asked: Mapping[str, int]
    ) -> Iterator[Finding]:
        judged = {condition.evidence_ref for condition in proposal.preconditions}
        for index, binding in enumerate(proposal.evidence_bindings):
            needed = binding.required or binding.binding_type == "precondition"
            if not needed or binding.evidence_id in judged:
                continue
            packet = facts.evidence.get(binding.evidence_id)
            if fault := self._fault(packet, facts, asked.get(binding.evidence_id)):
                yield Finding(fault[0], f"evidence_bindings[{index}].evidence_id", fault[1])

    def _fault(
        self, packet: EvidencePacket | None, facts: Facts, asked_ms: int | None
    ) -> tuple[str, str] | None:
        """Return code and words of what is wrong with this evidence, None if it counts."""
        if packet is None:
            return "evidence_missing", "This evidence is not on record: a source must record it."
        if packet.source not in self._trusted:
            return (
                "evidence_untrusted",
                "This evidence is of a source that is not trusted: a trusted one must record it.",
            )
        age_ms = facts.now_ms - packet.observed_at_ms
        most_ms = self._freshness_ms if asked_ms is None else min(self._freshness_ms, asked_ms)
        if _is_ahead(packet, facts.now_ms):
            return "evidence_stale", (
                f"This evidence is observed in the future, {-age_ms // 1000} s from now: it must "
                "be observed again."
            )
        if age_ms > most_ms:
            return "evidence_stale", (
                f"This evidence is {age_ms // 1000} s old and counts for {most_ms // 1000} s: "
                "it must be observed again."
            )
        return None

    passes: ClassVar[tuple[RuleCase, ...]] = ()
    fails: ClassVar[tuple[RuleCase, ...]] = ()


def _is_ahead(packet: EvidencePacket, now_ms: int) -> bool:
    """Return True if it was observed later than now by more than its source's clock explains.

    A source's clock may be ahead of ours by `limits.clock_skew_s`; evidence from further ahead is
    never recorded. So evidence that was recorded before now is not ahead. If it was recorded after
    now, our own clock has been set back, and its times mean nothing any more.
    """
    return now_ms < min(packet.observed_at_ms, packet.recorded_at_ms)


class _Members:
    """What stands in each list that was asked about: a document may ask a thousand times."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Any], frozenset[tuple[str, Any]]]] = {}

    def hold(self, items: list[Any], wanted: Any) -> bool:
        """Return True if an item is equal to `wanted`, as `_equal` compares."""
        if id(items) not in self._known:  # kept with the list, so that its id stays its own
            self._known[id(items)] = items, frozenset(map(_identity, items))
        return _identity(wanted) in self._known[id(items)][1]


def _identity(value: Any) -> tuple[str, Any]:
    """Return a value that is the same for two JSON values exactly if they are equal."""
    kind = _kind(value)
    return kind, canonical_bytes(value) if kind in ("object", "list") else value


def _never(condition: Precondition, searches: Searches) -> str | None:
    """Return in words why this is false whatever a source observes, None if it may become true."""
    kind, operator = _kind(condition.value), condition.operator
    if operator in ("gt", "lt") and kind != "number":
        return f"`{operator}` compares numbers: write the value as a number, without quotes."
    if operator in ("eq", "ne") and kind == "null":
        return f"`{operator}` is never true of null: write the value that is asked for."
    return searches.objection(condition.value) if operator == "matches" else None


def _why_not(condition: Precondition, searches: Searches) -> str:
    if condition.operator in ("matches", "contains") and searches.spent:
        return _TOO_MUCH
    return _never(condition, searches) or (
        f"The evidence does not show that {condition.field!r} {condition.operator} what is asked: "
        "wait until a source observes that."
    )


def _holds(
    condition: Precondition, payload: Mapping[str, Any], members: _Members, searches: Searches
) -> bool:
    actual, wanted = _at(payload, condition.field), condition.value
    if actual is _ABSENT or actual is None:
        return False
    match condition.operator:
        case "eq":
            return _equal(actual, wanted)
        case "ne":
            return _kind(actual) == _kind(wanted) and not _equal(actual, wanted)
        case "gt":
            return _kind(actual) == _kind(wanted) == "number" and bool(actual > wanted)
        case "lt":
            return _kind(actual) == _kind(wanted) == "number" and bool(actual < wanted)
        case "contains":
            return _contains(actual, wanted, members, searches)
        case "matches":
            return isinstance(actual, str) and searches.matches(wanted, actual)
        case _:
            return False


def _at(payload: Any, field: str) -> Any:
    """Return the value at a dotted path: names in objects, positions in lists."""
    value = payload
    for part in field.split("."):
        if isinstance(value, Mapping):
            value = value.get(part, _ABSENT)
        elif isinstance(value, list) and part.isascii() and part.isdecimal() and len(part) < 6:
            value = value[int(part)] if int(part) < len(value) else _ABSENT
        else:
            return _ABSENT
    return value


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case list() | tuple():
            return "list"
        case _:
            return "null"


def _equal(one: Any, other: Any) -> bool:
    """Compare JSON values with their types, all the way down: true is not 1, and 1.0 is 1."""
    if _kind(one) != _kind(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _contains(actual: Any, wanted: Any, members: _Members, searches: Searches) -> bool:
    if isinstance(actual, str):
        return isinstance(wanted, str) and searches.contains(wanted, actual)
    return isinstance(actual, list) and members.hold(actual, wanted)


def _case(
    name: str,
    operator: str,
    value: Any,
    code: str | None = None,
    field: str = "account.age_days",
    **packet: Any,
) -> RuleCase:
    now_ms = 1_772_452_800_000
    observed: dict[str, Any] = {
        "evidence_id": "e1",
        "source": "crm-sensor",
        "observed_at_ms": now_ms - 60_000,
        "recorded_at_ms": now_ms - 60_000,
        "payload": {"account": {"age_days": 40, "name": "Pat", "tags": ["vip", 1]}},
    }
    condition = {"field": field, "operator": operator, "value": value, "evidence_ref": "e1"}
    evidence = EvidencePacket(**(observed | packet))
    return RuleCase(
        name,
        {"preconditions": [condition]},
        {"trusted_sources": ["crm-sensor"], "freshness_s": 300},
        facts={"evidence": {evidence.evidence_id: evidence}},
        code=code,
    )


_FALSE: Final = "precondition_false"
_AFTER_NOW: Final[Mapping[str, Any]] = dict.fromkeys(
    ("observed_at_ms", "recorded_at_ms"), 1_772_452_860_000
)
PreconditionsHold.passes = (
    RuleCase("nothing asked"),
    _case("a greater number", "gt", 30),
    _case("the same number", "eq", 40.0),
    _case("another text", "ne", "Eve", field="account.name"),
    _case("a member", "contains", "vip", field="account.tags"),
    _case("the whole text", "matches", "P.t", field="account.name"),
    _case("a source whose clock is ahead", "eq", 40, observed_at_ms=1_772_452_800_000 + 300_000),
)
PreconditionsHold.fails = (
    _case("not greater", "gt", 40, _FALSE),
    _case("a text is no number", "eq", "40", _FALSE),
    _case("an absent field differs from nothing", "ne", 1, _FALSE, field="account.rank"),
    _case("another type differs from nothing", "ne", "40", _FALSE),
    _case("true is no member because 1 is", "contains", True, _FALSE, field="account.tags"),
    _case("a part of the text", "matches", "P", _FALSE, field="account.name"),
    _case("not on record", "eq", 40, "evidence_missing", evidence_id="e2"),
    _case("nobody trusted", "eq", 40, "evidence_untrusted", source="leila"),
    _case("too old", "eq", 40, "evidence_stale", observed_at_ms=1_772_452_800_000 - 300_001),
    _case("recorded and observed after now", "eq", 40, "evidence_stale", **_AFTER_NOW),
)
