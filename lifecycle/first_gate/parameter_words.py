"""Says of a parameter that breaks a tool's schema what is demanded and what to change."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Final

from jsonschema import ValidationError as Mismatch

from lifecycle.errors import Fault
from lifecycle.nearest import meant
from lifecycle.paths import dotted

_LONGEST_WORDS: Final = 120
#: A tool with more fields than these is told no likely name: comparing them takes its time.
_MOST_COMPARED: Final = 64


def fault_of(mismatch: Mismatch) -> Fault:
    """Return `invalid_parameter` for one place where the parameters break the schema."""
    required = _words(mismatch)
    return Fault(
        "invalid_parameter",
        dotted(("parameters", *mismatch.absolute_path)),
        required=required,
        actual="another value",
        suggestion=_remedy(mismatch, required),
    )


def _remedy(mismatch: Mismatch, required: str) -> str:
    """Return what to change, in words for a person: the schema's own if it describes a value."""
    wanted = mismatch.validator_value
    named = wanted if isinstance(wanted, list) else [wanted]
    match mismatch.validator:
        case "required":  # a description here is of the whole object, and helps nobody
            sent = mismatch.instance if isinstance(mismatch.instance, dict) else {}
            absent = [str(name) for name in named if name not in sent]
            words = f"The tool needs all of these here: {_listed(absent)}"
        case "additionalProperties":  # so it is here
            known = _properties(mismatch)
            few = known if len(known) <= _MOST_COMPARED else ()
            hint = meant(str(mismatch.absolute_path[-1]), few)
            words = f"The tool takes no field of this name: remove it or correct its name.{hint}"
        case "type" if not _described(mismatch):
            words = f"Nothing is converted: send this as {' or '.join(map(str, named))}"
        case _:
            words = f"Change this to what the tool asks for: {required}"
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


def _words(mismatch: Mismatch) -> str:
    """Return what is demanded, in the schema's words; the value itself is never repeated."""
    if mismatch.validator == "additionalProperties" and (known := _properties(mismatch)):
        return f"one of {_listed(known)}"
    if described := _described(mismatch):
        return described[:_LONGEST_WORDS]
    if mismatch.schema is False:
        return "no field that its schema forbids"
    wanted = json.dumps(mismatch.validator_value, ensure_ascii=False)
    return f"{mismatch.validator} {wanted}"[:_LONGEST_WORDS]


def _listed(names: list[str]) -> str:
    """Return the first of the names, one at least, and none by half: that would be taken for it."""
    ends = accumulate(len(name) + 2 for name in names)
    told = [name for name, end in zip(names, ends, strict=True) if end <= _LONGEST_WORDS]
    told = told or names[:1]
    return ", ".join(told if len(told) == len(names) else [*told, "…"])


def _properties(mismatch: Mismatch) -> list[str]:
    """Return the names that the schema has for fields of the object which has one too many."""
    schema = mismatch.schema if isinstance(mismatch.schema, dict) else {}
    return sorted(schema.get("properties", {}))


def _described(mismatch: Mismatch) -> str:
    """Return the words that the schema has for what is to stand there; empty if it has none."""
    schema = mismatch.schema if isinstance(mismatch.schema, dict) else {}
    words = schema.get("description")
    return words.strip() if isinstance(words, str) else ""
