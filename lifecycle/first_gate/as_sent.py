"""Name in a fault the field that its sender wrote, whatever kind of document that stood in."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lifecycle.errors import Fault
from lifecycle.first_gate.kind import Kind

#: The names that fields of a Proposal have in a KernelRequest.
_IN_A_REQUEST: Final = {
    "proposal_id": "request_id",
    "parameters": "params",
    "evidence_bindings": "evidence",
}
_ITS_ID: Final = (
    "The target of a KernelRequest is its tool's own match and params.resource_id: write "
    "params.resource_id, or send a Proposal, which names its target."
)
_ITS_TARGET: Final = (
    "The target of a KernelRequest is its tool's own match, and this tool's does not say this: "
    "send a Proposal, which names its target."
)


def as_sent(fault: Fault, kind: Kind, place: str) -> Fault:
    """Return a fault of a Proposal with its path in the document that was sent.

    `place` is where in an envelope the Proposal stood (`candidates.<key>`). A fault without a path
    is of no field, and has none afterwards.
    """
    if not fault.path:
        return fault
    if kind is Kind.KERNEL_REQUEST:
        return in_a_request(fault)
    return replace(fault, path=f"{place}.{fault.path}") if place else fault


def in_a_request(fault: Fault) -> Fault:
    """Return a fault of a Proposal that was made of a KernelRequest, in the request's own names."""
    if fault.path.startswith("target."):
        own = fault.path == "target.resource_id"
        return replace(fault, suggestion=_ITS_ID if own else _ITS_TARGET)
    for ours, theirs in _IN_A_REQUEST.items():
        if fault.path == ours or fault.path.startswith((f"{ours}.", f"{ours}[")):
            return replace(fault, path=theirs + fault.path[len(ours) :])
    return fault
