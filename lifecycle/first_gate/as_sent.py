"""Name in a fault the field that its sender wrote, whatever kind of document that stood in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.first_gate.kind import parameters_at

#: Fields of a Proposal that a KernelRequest has, too, under the same name.
_THE_SAME: Final = frozenset({"ts_ms", "actor", "intent"})
#: An entry of a list, and what of a path is below it.
_ENTRY: Final = re.compile(r"\[(\d+)\](.*)")
_ITS_TARGET: Final = (
    "The target of a KernelRequest is its tool's own match, and this tool's does not say this: "
    "send a Proposal, which names its target."
)


def as_sent(fault: Fault, place: str, request: Mapping[str, Any] | None) -> Fault:
    """Return a fault of a Proposal with its path in the document that was sent.

    `place` is where in an envelope the Proposal stood (`candidates.<key>`), `request` the
    KernelRequest that it was made of. A fault without a path is of no field, and has none
    afterwards.
    """
    if not fault.path:
        return fault
    if request is not None:
        return in_a_request(fault, request)
    return replace(fault, path=f"{place}.{fault.path}") if place else fault


def in_a_request(fault: Fault, request: Mapping[str, Any]) -> Fault:
    """Return a fault of a Proposal that was made of a KernelRequest, in the request's own names.

    It has no path if the request has no room for such a field: whoever added it would be refused.
    """
    name = field_of(fault)
    below = fault.path.removeprefix(name)
    if name == "target":
        own = below == ".resource_id"
        return replace(fault, suggestion=_its_id(request) if own else _ITS_TARGET)
    if name in _THE_SAME:
        return fault
    return replace(fault, path=_path_of(name, below, request))


def field_of(fault: Fault) -> str:
    """Return the field of a Proposal in which a fault is."""
    return fault.path.partition(".")[0].partition("[")[0]


def _path_of(name: str, below: str, request: Mapping[str, Any]) -> str:
    match name:
        case "proposal_id":
            return "request_id"
        case "parameters":
            return f"{parameters_at(request)}{below}"
        case "evidence_bindings":
            return f"evidence{_of_evidence(below, request.get('evidence'))}"
        case _:
            return ""


def _of_evidence(below: str, evidence: Any) -> str:
    """Return the path below `evidence`, which may be one entry alone, and an entry its id alone."""
    found = _ENTRY.fullmatch(below)
    if found is None:
        return below
    index, of_entry = int(found[1]), found[2]
    listed = isinstance(evidence, list)
    entry = evidence[index] if listed else evidence
    own = "" if isinstance(entry, str) else of_entry
    return f"[{index}]{own}" if listed else own


def _its_id(request: Mapping[str, Any]) -> str:
    place = f"{parameters_at(request)}.resource_id"
    return (
        f"The target of a KernelRequest is its tool's own match and {place}: write {place}, or "
        "send a Proposal, which names its target."
    )
