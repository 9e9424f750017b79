"""The gate does steps 2 to 4 of reading: it makes an accepted proposal of a parsed object (section
4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, assert_never

from lifecycle.binding import binding_faults
from lifecycle.canonical import canonical_bytes, digest_of, r3_document, s256
from lifecycle.document import ProposalDocument
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.as_sent import as_sent, field_of, in_a_request
from lifecycle.first_gate.digest_values import digest_faults
from lifecycle.first_gate.kind import Kind, kind_of, of_kernel_request
from lifecycle.first_gate.parameter_shapes import parameter_faults
from lifecycle.first_gate.reading import MOST_FAULTS, parameters_within_limit
from lifecycle.first_gate.single_lines import control_character_faults
from lifecycle.first_gate.structure import (
    choice_faults,
    document_of,
    emptiness_faults,
    identifier_faults,
    intent_faults,
)
from lifecycle.first_gate.tool_choice import tool_meant
from lifecycle.likeness import likeness_of
from lifecycle.policy import Policy, ToolPolicy
from lifecycle.quorum import configured_tier, effective_tier, quorum_of
from lifecycle.text.display import display_of
from lifecycle.tier import Tier
from lifecycle.windows import rollback_fault, window_asked

#: The vocabulary of the R3 document's operation: a tool by its name (seed 003).
R3_VOCABULARY: Final = "urn:aauth:vocabulary:mcp"
#: Faults of a KernelRequest by their place, and the fields that nobody can judge then.
_HIDES: Final = {
    "tool_call": frozenset({"action_type", "target"}),
    "tool_call.name": frozenset({"action_type", "target"}),
    "params": frozenset({"target", "parameters"}),
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """A proposal that passed the gate.

    `canonical` are the bytes that are stored and served; `document` was read from them. `tier` is
    the effective tier, `window_s` the rollback window in seconds that counts (0: none), `quorum`
    how many must approve and `quorum_needs_people` that auto-approval cannot stand for it. `extra`
    is what came beside the document: the plan and witness of an envelope. `place` is the path of
    the document in its envelope, empty if it came alone; `request` is the KernelRequest that it was
    made of, if it was.
    """

    document: ProposalDocument
    canonical: bytes
    digest: str
    content_digest: str
    likeness_digest: str
    tool: ToolPolicy
    tier: Tier
    quorum: int
    quorum_needs_people: bool
    window_s: int
    r3_document: bytes
    r3_s256: str
    kind: Kind = Kind.PROPOSAL
    extra: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    request: Mapping[str, Any] | None = None

    def as_sent(self, fault: Fault) -> Fault:
        """Return a fault of `document` with the path that its sender knows."""
        return as_sent(fault, self.place, self.request)


def refused_as_sent(error: Refused, accepted: Accepted) -> Refused:
    """Return the refusal of an accepted document with the paths that its sender knows."""
    faults = map(accepted.as_sent, error.faults)
    return Refused(faults, retry_after_s=error.retry_after_s)


def accept(obj: Mapping[str, Any], policy: Policy) -> Accepted:
    """Judge a parsed object and return the accepted proposal.

    Steps 2 (control characters, size of the parameters), 3 (kind) and 4 (structure) of design
    section 4, each failing closed. Raises Refused with all faults of the first step that fails,
    and so for every envelope: `enveloping` opens these before. Pure: the same object gives the same
    bytes.
    """
    fields = dict(obj)
    _refuse(_byte_faults(fields))
    kind = kind_of(fields)
    proposal, of_request = _proposal_fields(fields, kind, policy)
    canonical, judged = _canonical(proposal)
    document, tool, faults = _structure(canonical, judged, kind, policy)
    request = fields if kind is Kind.KERNEL_REQUEST else None
    _refuse(_as_sent(faults, request, of_request))
    if document is None or tool is None:
        raise AssertionError("no fault, and yet nothing that could be accepted")
    if tool.tier is not configured_tier(tool):
        tool = replace(tool, tier=configured_tier(tool))
    return replace(_accepted(document, canonical, tool, kind), request=request)


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise Refused(faults[:MOST_FAULTS])


def _byte_faults(fields: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of step 2 that need the parsed document: sizes first, then characters."""
    faults: list[Fault] = []
    call = fields.get("tool_call")
    inner = call.get("params") if isinstance(call, dict) else None
    sent = {"parameters": fields.get("parameters"), "params": fields.get("params")}
    for path, parameters in (sent | {"tool_call.params": inner}).items():
        if not isinstance(parameters, dict):
            continue
        try:
            parameters_within_limit(parameters)
        except Refused as refused:
            faults.extend(replace(fault, path=path) for fault in refused.faults)
        except ValueError:
            faults.append(_not_json("V-PROP-006", path))
    return [*faults, *control_character_faults(fields)]


def _proposal_fields(
    fields: dict[str, Any], kind: Kind, policy: Policy
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the fields of the Proposal, and the faults of a KernelRequest itself."""
    match kind:
        case Kind.KERNEL_REQUEST:
            return of_kernel_request(fields, policy)
        case Kind.PROPOSAL | Kind.ENVELOPE:  # no field of an envelope is one of a Proposal
            return fields, []
        case _:
            assert_never(kind)


def _canonical(fields: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return the canonical bytes, and the fields parsed from them; only these are judged."""
    try:
        canonical = canonical_bytes(fields)
        judged: dict[str, Any] = json.loads(canonical)
        canonical_bytes(judged)  # 2^53 as a float has a form that is out of range when read again
    except (ValueError, RecursionError):
        raise Refused([_not_json("malformed_json", "")]) from None
    return canonical, judged


def _not_json(code: str, path: str) -> Fault:
    return Fault(
        code,
        path,
        required="values that JSON can carry exactly",
        suggestion="Send finite numbers within ±9007199254740991 and whole Unicode text.",
    )


def _structure(
    canonical: bytes, fields: dict[str, Any], kind: Kind, policy: Policy
) -> tuple[ProposalDocument | None, ToolPolicy | None, list[Fault]]:
    """Return document, tool and all faults of step 4, the V-PROP rules first and in order."""
    document, faults = document_of(canonical, fields)
    faults += emptiness_faults(fields)
    codes = {fault.code for fault in faults}
    readable = codes.isdisjoint({"V-PROP-004", "V-PROP-005"})
    tool, unfit = tool_meant(fields, policy, readable=readable)
    if kind is Kind.PROPOSAL:
        faults += intent_faults(fields)
    faults += unfit
    faults += islice(identifier_faults(fields), MOST_FAULTS)
    faults += islice(choice_faults(fields), MOST_FAULTS)
    faults += binding_faults(fields, policy.digest)
    if tool is not None:
        faults += _tool_faults(tool, fields, document)
    return document, tool, sorted(faults, key=_rank)


def _rank(fault: Fault) -> str:
    return fault.code if fault.code.startswith("V-PROP") else "~"


def _tool_faults(
    tool: ToolPolicy, fields: Mapping[str, Any], document: ProposalDocument | None
) -> Iterator[Fault]:
    """Yield what the tool objects to in rollback, digests and parameters."""
    rollback = rollback_fault(tool, fields.get("rollback_semantics"))
    if rollback is not None:
        yield rollback
    parameters = fields.get("parameters")
    if not isinstance(parameters, dict):
        return
    tier = tool.tier if document is None else effective_tier(tool, document)
    # A digest that may not stand there is not also measured against the schema of the value.
    digests = digest_faults(tool, tier, parameters)
    yield from digests
    refused = {fault.path for fault in digests}
    yield from (f for f in parameter_faults(tool, parameters) if f.path not in refused)


def _as_sent(
    faults: list[Fault], request: Mapping[str, Any] | None, of_request: list[Fault]
) -> list[Fault]:
    """Return all faults of step 4 with the names that the sender used, the V-PROP rules first."""
    if request is None:
        return faults
    hidden = frozenset[str]().union(*(_HIDES.get(fault.path, ()) for fault in of_request))
    own = (in_a_request(fault, request) for fault in faults if field_of(fault) not in hidden)
    return sorted([*of_request, *own], key=_rank)


def _accepted(
    document: ProposalDocument, canonical: bytes, tool: ToolPolicy, kind: Kind
) -> Accepted:
    tier = effective_tier(tool, document)
    quorum, needs_people = quorum_of(tool, document)
    window_s = window_asked(tool, tier, document.rollback_semantics)
    target = document.target.model_dump(mode="json")
    digest = digest_of(canonical)
    r3_bytes = r3_document(
        R3_VOCABULARY,
        {"tool": tool.name, "target": target, "digest": digest},
        display_of(document, tool, window_s),
        document.parameters,
    )
    return Accepted(
        document=document,
        canonical=canonical,
        digest=digest,
        content_digest=_content_digest(document, tool, target),
        likeness_digest=likeness_of(document.actor, tool.name, target, document.parameters),
        tool=tool,
        tier=tier,
        quorum=quorum,
        quorum_needs_people=needs_people,
        window_s=window_s,
        r3_document=r3_bytes,
        r3_s256=s256(r3_bytes),
        kind=kind,
    )


def _content_digest(document: ProposalDocument, tool: ToolPolicy, target: dict[str, Any]) -> str:
    """Return the digest by which duplicates and refused proposals are recognized."""
    content = {
        "actor": document.actor,
        "tool": tool.name,
        "target": target,
        "parameters": document.parameters,
    }
    return digest_of(canonical_bytes(content))
