"""What a tool's own schema may hold: what asks nothing or cannot be evaluated is named."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.first_gate.parameter_shapes import parameter_faults, schema_problems
from lifecycle.policy import ActionType
from lifecycle.tier import Tier
from tests.builders import a_tool


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"pattern": "(?=x)"}}},
        {"patternProperties": {"(?=x)": {}}},
        {"unevaluatedProperties": False},
        {"type": "objekt"},
    ],
)
def test_a_schema_that_cannot_be_evaluated_safely_is_named_at_start_up(schema: Any) -> None:
    assert len(schema_problems(schema)) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "requried": ["to"]},
        {"properties": {"to": {"maxlength": 5}}},
        {"anyOf": [{"required": ["to"]}, {"additonalProperties": False}]},
        {"to": {"type": "string"}},
        {"dependencies": {"bcc": ["reason"]}},
        {"nullable": True},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
    ],
)
def test_a_keyword_that_asks_nothing_is_named_at_start_up(schema: Any) -> None:
    assert len(schema_problems(schema)) == 1


def test_a_schema_may_hold_notes_of_its_own_and_everything_that_its_draft_knows() -> None:
    known = "https://json-schema.org/draft/2020-12/schema"
    schema = {
        "$schema": known,
        "$comment": "ours",
        "x-owner": {"team": {"requried": 1}},
        "definitions": {"short": {"maxLength": 5}},
        "properties": {"to": {"$ref": "#/definitions/short"}},
        "dependentRequired": {"bcc": ["reason"]},
        "if": {"required": ["bcc"]},
        "then": {"minProperties": 2},
        "contains": True,
        "minContains": 1,
    }
    assert schema_problems(schema) == []


@pytest.mark.parametrize(
    "place",
    ["#/x-own/s", "#/x-own%2Fs", "#/examples/0", "#/default", "#/$defs", "#/$defs/nowhere"],
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_what_no_start_has_looked_at_is_no_schema_to_point_at(place: str, keyword: str) -> None:
    """A pattern that stood there kept a whole bot from answering, for one proposal 12 seconds."""
    hidden = {"unevaluatedProperties": False, "patternProperties": {"(a+)+$": True}}
    schema = {
        "properties": {"a": {keyword: place}},
        "x-own": {"s": hidden},
        "examples": [hidden],
        "default": hidden,
        "$defs": {"known": {}},
    }
    assert [where for where, _ in schema_problems(schema)] == [("properties", "a", keyword)]


def test_every_schema_within_may_be_pointed_at() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema#",
        "$defs": {"any": True, "none": {}, "a b/c~d": {"type": "integer"}, "n": {"$anchor": "n"}},
        "allOf": [{"minProperties": 1}],
        "properties": {
            "a": {"$ref": "#/$defs/any"},
            "b": {"$ref": "#/$defs/none"},
            "c": {"$ref": "#/$defs/a%20b~1c~0d"},
            "d": {"prefixItems": [{"$ref": "#/properties/a"}], "items": {"$ref": "#"}},
            "e": {"$ref": "#/properties/d/prefixItems/0"},
            "f": {"$ref": "#n"},
            "g": {"$ref": "#/allOf/0"},
            "h": {"$id": "h", "$defs": {"own": True}, "items": {"$ref": "#/$defs/own"}},
        },
    }
    assert schema_problems(schema) == []
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=schema)
    parameters = {"a": 1, "b": 1, "c": 1, "d": [1], "e": 1, "f": 1, "g": {"a": 1}, "h": [1]}
    assert parameter_faults(tool, parameters) == []
    assert [f.path for f in parameter_faults(tool, {"c": "x", "g": {}})] == [
        "parameters.c",
        "parameters.g",
    ]


def test_names_and_values_in_a_schema_are_no_keywords() -> None:
    schema = {
        "properties": {"pattern": {"type": "string"}, "unevaluatedProperties": {}},
        "const": {"pattern": "("},
        "enum": [{"$ref": "https://example.com"}],
    }
    assert schema_problems(schema) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"properties": {"a": {"pattern": "(?=x)"}}},
    ],
)
def test_a_schema_that_cannot_be_evaluated_lets_nothing_pass(schema: Any) -> None:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=schema)
    assert [fault.code for fault in parameter_faults(tool, {"a": "x"})] == ["invalid_parameter"]
