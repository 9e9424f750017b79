"""Step 3 of reading tells which kind a document is, and never guesses (section 4, seed 000)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.nearest import meant
from lifecycle.paths import Parts, dotted
from lifecycle.policy import Policy, ToolPolicy

_ENVELOPE_KEYS: Final = frozenset({"proposal", "llmProposal"})
_REQUEST_KEY: Final = "request_id"
_PROPOSAL_KEY: Final = "proposal_id"
_PROPOSAL_SIGNS: Final = frozenset({"action_type", "target"})

#: The fields of seed 000's KernelRequest, and of its tool call.
_REQUEST_FIELDS: Final = frozenset(
    {"request_id", "ts_ms", "actor", "intent", "tool_call", "params", "evidence"}
)
_CALL_FIELDS: Final = frozenset({"name", "params"})
#: Where the older form of a KernelRequest has its parameters.
_INSIDE: Final = "tool_call.params"
#: Fields of a KernelRequest and the Proposal's field that each becomes.
_RENAMED: Final = {
    "request_id": "proposal_id",
    "ts_ms": "ts_ms",
    "actor": "actor",
    "intent": "intent",
}


class Kind(StrEnum):
    """The three kinds of document that an agent may send."""

    ENVELOPE = "envelope"
    KERNEL_REQUEST = "kernel_request"
    PROPOSAL = "proposal"


def kind_of(obj: Mapping[str, Any]) -> Kind:
    """Return the kind of document that `obj` is.

    Raises Refused (`unknown_kind`) if it has the signs of no kind or of several. A document with
    `action_type` or `target` but no id is a Proposal, whose fault is V-PROP-001.
    """
    kinds = _signs(obj)
    if not kinds and not _PROPOSAL_SIGNS.isdisjoint(obj):
        return Kind.PROPOSAL
    if len(kinds) == 1:
        return kinds[0]
    actual = " and ".join(kinds) if kinds else "none of these"
    raise Refused(
        [
            Fault(
                "unknown_kind",
                required="exactly one of proposal_id, request_id, or proposal/llmProposal",
                actual=actual,
                suggestion="Send one Proposal with proposal_id, one KernelRequest with request_id, "
                "or one instruction envelope with proposal; a document is never guessed at.",
            )
        ]
    )


def _signs(obj: Mapping[str, Any]) -> list[Kind]:
    signs = (
        (Kind.ENVELOPE, not _ENVELOPE_KEYS.isdisjoint(obj)),
        (Kind.KERNEL_REQUEST, _REQUEST_KEY in obj),
        (Kind.PROPOSAL, _PROPOSAL_KEY in obj),
    )
    return [kind for kind, there in signs if there]


def of_kernel_request(obj: Mapping[str, Any], policy: Policy) -> tuple[dict[str, Any], list[Fault]]:
    """Return the Proposal that a KernelRequest means, by the table of seed 000, and the faults of
    the request itself: fields that it does not have, a call that names no tool or an unknown one,
    and two different sets of parameters.

    What cannot be filled is left out: without a tool `tool`, `action_type` and `target`. A part of
    the target that is left out becomes V-PROP-005 when the structure is judged.
    """
    tool, unknown = _tool_called(obj.get("tool_call"), policy)
    parameters, differ = _parameters(obj)
    mapped = {new: obj[old] for old, new in _RENAMED.items() if old in obj}
    mapped["parameters"] = parameters
    if tool is not None:
        mapped |= {
            "tool": tool.name,
            "action_type": tool.action_type.value,
            "target": _target(tool, parameters),
        }
    if obj.get("evidence") is not None:
        mapped["evidence_bindings"] = _bindings(obj["evidence"])
    return mapped, [*_stray_fields(obj), *(each for each in (unknown, differ) if each)]


def _stray_fields(obj: Mapping[str, Any]) -> list[Fault]:
    call = obj.get("tool_call")
    inner = call if isinstance(call, Mapping) else {}
    stray: list[tuple[Parts, frozenset[str]]]
    stray = [((key,), _REQUEST_FIELDS) for key in obj if key not in _REQUEST_FIELDS]
    stray += [(("tool_call", key), _CALL_FIELDS) for key in inner if key not in _CALL_FIELDS]
    return [_stray(parts, known) for parts, known in stray[:MOST_FAULTS]]


def _stray(parts: Parts, known: frozenset[str]) -> Fault:
    return Fault(
        "unknown_field",
        dotted(parts),
        required="one of " + ", ".join(sorted(known)),
        suggestion=f"Remove this field, or send a Proposal.{meant(str(parts[-1]), known)}",
    )


def _tool_called(call: Any, policy: Policy) -> tuple[ToolPolicy | None, Fault | None]:
    if not isinstance(call, Mapping) or "name" not in call:
        return None, Fault(
            "V-PROP-005",
            "tool_call",
            required="an object with the name of the tool",
            actual="absent" if call is None else "no object with a name",
            suggestion="Name the tool in tool_call.name: without it there is no target.",
        )
    name = call["name"]
    if isinstance(name, str) and name in policy.tools:
        return policy.tools[name], None
    return None, unknown_tool(name, policy, "tool_call.name")


def unknown_tool(name: Any, policy: Policy, path: str) -> Fault:
    """Return the fault for a name that no configured tool has; names match exactly."""
    if not isinstance(name, str):
        return Fault(
            "wrong_type", path, required="a string", suggestion="Write the tool's name as a string."
        )
    return Fault(
        "unknown_tool",
        path,
        required="the exact name of a configured tool",
        actual="a name that no tool has" if name else "an empty name",
        suggestion=f"Ask for one of the configured tools.{meant(name, policy.tools)}",
    )


def _parameters(obj: Mapping[str, Any]) -> tuple[Any, Fault | None]:
    """Return the parameters; the older form repeats them inside the tool call."""
    inner, outer = _inner_parameters(obj), obj.get("params")
    if not (inner and outer) or inner == outer:
        return (inner if parameters_at(obj) == _INSIDE else outer), None
    return outer, Fault(
        "V-PROP-006",
        "params",
        required="the same parameters as in tool_call.params, or in one place alone",
        actual="two different sets of parameters",
        suggestion="Send the parameters once, under params.",
    )


def parameters_at(obj: Mapping[str, Any]) -> str:
    """Return the path at which a KernelRequest holds the parameters that count, or should."""
    inner = _inner_parameters(obj)
    inside = not obj["params"] and bool(inner) if "params" in obj else inner is not None
    return _INSIDE if inside else "params"


def _inner_parameters(obj: Mapping[str, Any]) -> Any:
    call = obj.get("tool_call")
    return call.get("params") if isinstance(call, Mapping) else None


def _target(tool: ToolPolicy, parameters: Any) -> dict[str, Any]:
    target: dict[str, Any] = {**tool.target, "constraints": {}}
    if isinstance(parameters, Mapping) and "resource_id" in parameters:
        target["resource_id"] = parameters["resource_id"]
    return target


def _bindings(evidence: Any) -> Any:
    """Return each cited evidence as a binding that is required: what is cited must be on record."""
    cited = evidence if isinstance(evidence, list) else [evidence]
    return [
        {"evidence_id": each, "binding_type": "context", "required": True}
        if isinstance(each, str)
        else each
        for each in cited
    ]
