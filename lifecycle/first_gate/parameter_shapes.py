"""Step 4 of reading judges the parameters: a tool's JSON Schema and the shape of a mail (section
4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError
from jsonschema import ValidationError as Mismatch
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from lifecycle.canonical import canonical_bytes
from lifecycle.errors import Fault
from lifecycle.first_gate.multiples import multiple_of
from lifecycle.first_gate.parameter_words import fault_of
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.nearest import meant
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.text.patterns import BadPattern, compiled

_ADDRESSES: Final = {
    "description": "an address or a list of addresses",
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}},
    ],
}
#: The shape of a mail. Other names are allowed: checked, shown, never in the mail.
EMAIL_SHAPE: Final[Mapping[str, Any]] = {
    "$comment": "Fields of other names are shown to people, and do not stand in the mail.",
    "type": "object",
    "required": ["to"],
    "properties": {
        "to": {
            "description": "an address or a list of one or more addresses",
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
            ],
        },
        "cc": _ADDRESSES,
        "bcc": _ADDRESSES,
        "reply_to": _ADDRESSES,
        "subject": {"type": "string"},
        "body": {"type": "string"},
    },
}


def _pattern(_v: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Mismatch]:
    if isinstance(value, str) and not _known(pattern).search(value):
        yield Mismatch("does not match")


def _pattern_properties(v: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[Mismatch]:
    if not isinstance(value, dict):
        return
    for pattern, schema in patterns.items():
        for key, item in value.items():
            if _known(pattern).search(key):
                yield from v.descend(item, schema, path=key, schema_path=pattern)


def _additional_properties(v: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Mismatch]:
    if not isinstance(value, dict):
        return
    patterns = schema.get("patternProperties", {})
    for key, item in value.items():
        known = key in schema.get("properties", {})
        if known or any(_known(pattern).search(key) for pattern in patterns):
            continue
        if wanted is False:
            yield Mismatch("unknown", path=(key,))
        elif isinstance(wanted, dict):
            yield from v.descend(item, wanted, path=key)


def _unique_items(_v: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Mismatch]:
    # By canonical form: the library compares each with each where items cannot be sorted.
    if not wanted or not isinstance(value, list):
        return
    if len({canonical_bytes(item) for item in value}) < len(value):
        yield Mismatch("repeats an item")


_Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "multipleOf": multiple_of,
    },
)
#: Keywords that are refused, and what to write instead. The first would let the library run regular
#: expressions with backtracking; the others are of older drafts, and would silently be ignored.
_NOT_SERVED: Final = {
    "unevaluatedProperties": "additionalProperties",
    "dependencies": "dependentRequired or dependentSchemas",
    "additionalItems": "items beside prefixItems",
    "nullable": 'type: [..., "null"]',
    "id": "$id",
    "$recursiveRef": "$dynamicRef",
    "$recursiveAnchor": "$dynamicAnchor",
}

#: Keywords that hold schemas by names of the operator's choice, and those that hold plain values.
_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_VALUES: Final = frozenset(
    {"const", "enum", "default", "examples", "dependentRequired", "$vocabulary"}
)
#: Keywords that demand nothing by themselves.
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$comment", "then", "else"}
    | {"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples"}
    | {"contentEncoding", "contentMediaType", "contentSchema", "minContains", "maxContains"}
    | _BY_NAME
)
_KNOWN: Final = frozenset(_Validator.VALIDATORS) | _ANNOTATIONS
#: Keywords that begin like this are the operator's own, and demand nothing.
_OWN: Final = "x-"
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
Where = tuple[str | int, ...]


def schema_problems(schema: Any) -> list[tuple[Where, str]]:
    """Return where and why a tool's `parameters` cannot be used; asked when a config is read."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        words = f"this is no JSON Schema (2020-12): {error.message[:200]}"
        return [(tuple(error.absolute_path), words)]
    places = {_written(where): each for where, each in _schemas(schema, ())}
    return [
        ((*where, keyword), words)
        for where, each in _schemas(schema, ())
        if isinstance(each, dict)
        for keyword, value in each.items()
        for words in (*_odd(keyword, value), *_astray(keyword, value, where, places))
    ]


def _schemas(schema: Any, where: Where) -> Iterator[tuple[Where, Any]]:
    """Yield a schema and all schemas within it, each with its place."""
    if isinstance(schema, bool | dict):
        yield where, schema
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            for step, inner in _within(keyword, value):
                yield from _schemas(inner, (*where, keyword, *step))


def _within(keyword: str, value: Any) -> Iterator[tuple[Where, Any]]:
    """Yield what may be schemas in the value of a keyword, each with the steps to it."""
    if keyword in _BY_NAME and isinstance(value, dict):
        yield from (((name,), inner) for name, inner in value.items())
    elif keyword in _KNOWN - _VALUES and isinstance(value, list):
        yield from (((number,), item) for number, item in enumerate(value))
    elif keyword in _KNOWN - _VALUES:
        yield (), value


def _written(where: Where) -> tuple[str, ...]:
    return tuple(map(str, where))


def _odd(keyword: str, value: Any) -> Iterator[str]:
    if keyword in _NOT_SERVED:
        yield f"{keyword} is not served: use {_NOT_SERVED[keyword]}"
    elif keyword not in _KNOWN and not keyword.startswith(_OWN):
        hint = meant(keyword, _KNOWN) or " Names of parameters stand under properties."
        yield f"JSON Schema has no such keyword, so that it would ask nothing.{hint}"
    if keyword == "$schema" and value.removesuffix("#") != _DRAFT:
        yield f"schemas of draft 2020-12 are read alone: write {_DRAFT}, or take the key out"
    patterns = [value] if keyword == "pattern" else []
    if keyword == "patternProperties" and isinstance(value, dict):
        patterns = list(value)
    for pattern in patterns:
        if isinstance(pattern, str) and not _compiles(pattern):
            yield f"{keyword} holds a pattern that RE2 cannot read (it has no lookaround)"


def _astray(
    keyword: str, value: Any, where: Where, places: Mapping[tuple[str, ...], Any]
) -> Iterator[str]:
    """Yield words if a reference points outside, or at a place where no schema was looked at."""
    if keyword not in ("$ref", "$dynamicRef"):
        return
    if not value.startswith("#"):
        yield f"{keyword} may only point within the schema (#…); nothing is fetched"
    elif value.startswith("#/"):
        steps = unquote(value[2:]).split("/")
        named = tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
        if _begins(_written(where), places) + named not in places:
            yield f"{keyword} points at no schema: write one under $defs, and point there"


def _begins(where: tuple[str, ...], places: Mapping[tuple[str, ...], Any]) -> tuple[str, ...]:
    """Return the place that a pointer counts from: the nearest schema around it with an $id."""
    while where and "$id" not in places.get(where, ()):
        where = where[:-1]
    return where


_known: Final = lru_cache(maxsize=256)(compiled)


def _compiles(pattern: str) -> bool:
    try:
        _known(pattern)
    except BadPattern:
        return False
    return True


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    return _Validator(json.loads(schema), registry=Registry())


def shape_of(tool: ToolPolicy) -> dict[str, Any] | None:
    """Return the JSON Schema that an agent has to keep to, None if the tool takes anything.

    What a mail asks for stands beside the tool's own schema. That has an `$id`, so that what it
    refers to within itself is itself, and not the whole.
    """
    own = dict(tool.parameters) if tool.parameters is not None else None
    if tool.kind is not ToolKind.EMAIL:
        return own
    if own is None:
        return dict(EMAIL_SHAPE)
    return {"allOf": [{"$id": f"urn:signoff:tool:{tool.name}"} | own, EMAIL_SHAPE]}


def parameter_faults(tool: ToolPolicy, parameters: Mapping[str, Any]) -> list[Fault]:
    """Return `invalid_parameter` for each place where the parameters break the tool's shape.

    Fails closed: a schema that cannot be evaluated lets nothing pass.
    """
    shapes = [EMAIL_SHAPE] if tool.kind is ToolKind.EMAIL else []
    if tool.parameters is not None:
        shapes.append(tool.parameters)
    found = (fault for shape in shapes for fault in _broken(shape, parameters))
    return list(islice(found, MOST_FAULTS))


def _broken(shape: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[Fault]:
    try:
        for mismatch in _validator(canonical_bytes(dict(shape))).iter_errors(dict(parameters)):
            yield fault_of(mismatch)
    except (Unresolvable, RecursionError, ValueError, SchemaError):
        yield Fault(
            "invalid_parameter",
            "parameters",
            required="a schema of the tool that can be evaluated",
            suggestion="Ask the operator to correct the tool's parameters schema.",
        )
