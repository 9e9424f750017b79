"""Step 4 of reading judges the fields: V-PROP-001 … 006, types, unknown names, ids (section 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_origin

from pydantic import BaseModel, ValidationError

from lifecycle.binding import unbound
from lifecycle.document import (
    Binding,
    EvidenceBinding,
    Precondition,
    ProposalDocument,
    RiskEnvelope,
    RollbackSemantics,
    Target,
    TimeWindow,
)
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.nearest import meant
from lifecycle.paths import dotted
from lifecycle.policy import ActionType
from lifecycle.text.secrets_found import find_secrets

#: An id that can be written on a card, in a command, in an address and as a file name; dots alone
#: would name another place in the last two.
IDENTIFIER: Final = re.compile(r"(?!\.+\Z)[A-Za-z0-9._-]{1,64}")
_OTHER: Final = re.compile(r"[^A-Za-z0-9._-]")
OPERATORS: Final = ("eq", "ne", "gt", "lt", "contains", "matches")
BINDING_TYPES: Final = ("precondition", "context", "attestation")

_V_PROP: Final = {
    "proposal_id": ("V-PROP-001", "a non-empty string", "Give the proposal an id of its own."),
    "ts_ms": (
        "V-PROP-002",
        "a positive whole number of milliseconds",
        "Write the time of writing in milliseconds since 1970 as a whole number.",
    ),
    "actor": ("V-PROP-003", "a non-empty string", "Name yourself as the actor."),
    "action_type": (
        "V-PROP-004",
        "one of " + ", ".join(ActionType),
        "Name one of the kernel's ten action types, in lower case.",
    ),
    "target": (
        "V-PROP-005",
        "an object with the strings resource_type, resource_id and domain and the object "
        "constraints",
        "Give the target all four fields; constraints may be {}.",
    ),
    "parameters": ("V-PROP-006", "an object", "Send the parameters as an object; {} where none."),
}
_PARTS: Final[Mapping[str, type[BaseModel]]] = {
    "target": Target,
    "preconditions": Precondition,
    "risk_envelope": RiskEnvelope,
    "rollback_semantics": RollbackSemantics,
    "time_window": TimeWindow,
    "evidence_bindings": EvidenceBinding,
    "binding": Binding,
}
_REQUIRED: Final = {
    "string_type": "a string",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
_NAMES: Final[Mapping[Any, str]] = {
    str: "a string",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}
_ABSENT: Final = object()
_MOST_NAMED: Final = 64
_FIELDS: Final = frozenset(ProposalDocument.model_fields)
#: Only a KernelRequest has an intent; it is kept to be shown.
_NOT_IN_A_PROPOSAL: Final = frozenset({"intent"})


def document_of(
    canonical: bytes, fields: Mapping[str, Any]
) -> tuple[ProposalDocument | None, list[Fault]]:
    """Return the typed document and no faults, or None and the faults of its types.

    `fields` is the same document, parsed; faults name only the kinds of its values. Raises Refused
    if it has too many unknown fields: nothing else of it is judged then.
    """
    strange = [key for key in fields if key not in _FIELDS]
    if len(strange) > _MOST_NAMED:  # thousands of them would only cost time to tell
        raise Refused(unknown_field((key,)) for key in strange[:MOST_FAULTS])
    try:
        return ProposalDocument.model_validate_json(canonical), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    return None, [_of_type_error(each["type"], each["loc"], fields) for each in found[:_MOST_NAMED]]


def _of_type_error(kind: str, loc: tuple[str | int, ...], fields: Mapping[str, Any]) -> Fault:
    if kind == "extra_forbidden":
        return unknown_field(loc)
    actual = _name(_value_at(fields, loc))
    if loc and loc[0] in _V_PROP:
        return _v_prop(str(loc[0]), dotted(loc), actual)
    if loc and loc[0] == "binding":
        return unbound(dotted(loc), actual)
    if kind == "missing":
        required = _asked_at(loc)
        suggestion = f"Add this field: {required}."
    else:
        required = _REQUIRED.get(kind, "a whole number")
        suggestion = f"Send {required} here: nothing is converted."
    return Fault("wrong_type", dotted(loc), required, actual, suggestion)


def _asked_at(loc: tuple[str | int, ...]) -> str:
    """Return what belongs at the place of a field that a part of the document lacks."""
    annotation = _PARTS[str(loc[0])].model_fields[str(loc[-1])].annotation
    if annotation is int:
        return "a whole number"
    return _NAMES.get(get_origin(annotation) or annotation, "a value")


def _v_prop(field: str, path: str, actual: str) -> Fault:
    code, required, remedy = _V_PROP[field]
    return Fault(code, path, required=required, actual=actual, suggestion=remedy)


def unknown_field(loc: tuple[str | int, ...]) -> Fault:
    """Return the fault for a field that the document does not have, with the nearest known name."""
    model = _PARTS.get(str(loc[0]), ProposalDocument) if len(loc) > 1 else ProposalDocument
    known = set(model.model_fields) - _NOT_IN_A_PROPOSAL
    return Fault(
        "unknown_field",
        dotted(loc),
        required="one of " + ", ".join(sorted(known)),
        actual="a field of another name",
        suggestion=f"Remove this field or correct its name.{meant(str(loc[-1]), known)}",
    )


def _value_at(fields: Any, loc: tuple[str | int, ...]) -> Any:
    value = fields
    for part in loc:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return _ABSENT
    return value


def _name(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if value is None:
        return "null"
    return _NAMES.get(type(value), "a number")


def intent_faults(fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield `unknown_field` for a field that only a KernelRequest may have."""
    for key in sorted(_NOT_IN_A_PROPOSAL.intersection(fields)):
        yield unknown_field((key,))


def emptiness_faults(fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield V-PROP-001 … 003 for values of the right type that are empty or not positive."""
    for field in ("proposal_id", "actor"):
        if fields.get(field) == "":
            yield _v_prop(field, field, "an empty string")
    ts_ms = fields.get("ts_ms")
    if isinstance(ts_ms, int) and not isinstance(ts_ms, bool) and ts_ms <= 0:
        yield _v_prop("ts_ms", "ts_ms", "zero or less")


def identifier_faults(fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield `invalid_identifier` for ids that are not 1–64 of A–Z a–z 0–9 . _ -, or are dots alone.

    An id in the shape of a credential is one, too: an id is shown and kept for ever, unmasked.
    """
    for path, value in _identifiers(fields):
        if not isinstance(value, str):
            continue
        if not IDENTIFIER.fullmatch(value):
            yield Fault(
                "invalid_identifier",
                path,
                required="1 to 64 characters of A-Z a-z 0-9 . _ -, not dots alone",
                actual=_misnamed(value),
                suggestion="Use letters, digits, dot, underscore and hyphen, at most 64 of them, "
                "and not dots alone.",
            )
        elif find_secrets(value):
            yield Fault(
                "invalid_identifier",
                path,
                required="an id that may be shown to anybody",
                actual="what looks like a credential",
                suggestion="Use an id without a meaning of its own, and withdraw the credential.",
            )


def _misnamed(value: str) -> str:
    if not value.strip("."):
        return "dots alone" if value else "empty"
    return f"{len(value)} characters{', others among them' if _OTHER.search(value) else ''}"


def _identifiers(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    # An empty id or actor is V-PROP's, an empty evidence_ref is judged with the meaning.
    yield from ((key, fields.get(key) or None) for key in ("proposal_id", "actor"))
    yield "task_id", fields.get("task_id")
    for index, item in _objects(fields.get("preconditions")):
        yield f"preconditions[{index}].evidence_ref", item.get("evidence_ref") or None
    for index, item in _objects(fields.get("evidence_bindings")):
        yield f"evidence_bindings[{index}].evidence_id", item.get("evidence_id")


def _objects(items: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(items, list):
        yield from ((i, item) for i, item in enumerate(items) if isinstance(item, dict))


def choice_faults(fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield `wrong_type` for words outside the closed sets of operators and binding types."""
    for index, item in _objects(fields.get("preconditions")):
        yield from _choice(item, "operator", OPERATORS, f"preconditions[{index}]")
    for index, item in _objects(fields.get("evidence_bindings")):
        yield from _choice(item, "binding_type", BINDING_TYPES, f"evidence_bindings[{index}]")


def _choice(
    item: Mapping[str, Any], key: str, known: tuple[str, ...], path: str
) -> Iterator[Fault]:
    value = item.get(key)
    if isinstance(value, str) and value not in known:
        yield Fault(
            "wrong_type",
            f"{path}.{key}",
            required="one of " + ", ".join(known),
            actual="another word",
            suggestion=f"Write one of {', '.join(known)}.{meant(value, known)}",
        )
