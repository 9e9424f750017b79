"""Parameters at the gate: mails, the schema of a tool, rollbacks, digests in place of values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lifecycle.first_gate.parameter_shapes import parameter_faults, schema_problems, shape_of
from lifecycle.policy import ActionType
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document, a_tool, the_tools
from tests.lifecycle.at_the_gate import accepted, faults_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["version"],
    "properties": {
        "version": {"type": "string", "pattern": "^v[0-9]+$"},
        "count": {"type": "integer", "maximum": 3},
        "tags": {"type": "array", "uniqueItems": True},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "additionalProperties": False,
}


# -------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({}, "parameters"),
        ({"to": ""}, "parameters.to"),
        ({"to": []}, "parameters.to"),
        ({"to": [1]}, "parameters.to"),
        ({"to": "a@shop.example", "cc": {"a": 1}}, "parameters.cc"),
        ({"to": "a@shop.example", "reply_to": 1}, "parameters.reply_to"),
        ({"to": "a@shop.example", "subject": ["x"]}, "parameters.subject"),
        ({"to": "a@shop.example", "body": None}, "parameters.body"),
    ],
)
def test_a_mail_has_the_shape_of_a_mail(parameters: dict[str, Any], path: str) -> None:
    assert faults_of(a_document(parameters=parameters)) == [("invalid_parameter", path)]


NUMBERED: dict[str, Any] = {"n": {"type": "integer"}}


@pytest.mark.parametrize(
    "own",
    [
        {"properties": NUMBERED | {"of": {"$ref": "#"}}},
        {"$id": "urn:x:y", "properties": NUMBERED | {"of": {"$ref": "urn:x:y"}}},
        {"$dynamicAnchor": "a", "properties": NUMBERED | {"of": {"$dynamicRef": "#a"}}},
        {"$defs": {"n": NUMBERED["n"]}, "properties": {"n": {"$ref": "#/$defs/n"}}},
        {"allOf": [{"properties": NUMBERED}], "properties": {"of": {"$ref": "#/allOf/0"}}},
        {"properties": NUMBERED | {"to": {}, "of": {}}, "additionalProperties": False},
        {"required": ["of"]},
        {},
        None,
    ],
)
def test_what_is_told_of_a_mail_is_what_the_gate_asks_of_it(own: dict[str, Any] | None) -> None:
    """A schema that refers to itself was told to need the fields of a mail at every depth."""
    tool = replace(the_tools()["send-email"], parameters=own)
    told = Draft202012Validator(shape_of(tool))

    for within in ({"n": 1}, {"n": "x"}, {}):
        for sent in (within, {"of": within}):
            for mail in (sent, sent | {"to": "a@shop.example"}, sent | {"to": []}):
                assert told.is_valid(mail) is (parameter_faults(tool, mail) == [])


def test_a_mail_may_carry_other_names() -> None:
    parameters = {"to": ["a@shop.example"], "cc": [], "priority": 3}
    assert accepted(parameters=parameters).document.parameters == parameters


@pytest.mark.parametrize(
    ("parameters", "paths"),
    [
        ({"version": "v1", "count": 3, "x-a": "b", "tags": [{}, []]}, []),
        ({}, ["parameters"]),
        ({"version": "1"}, ["parameters.version"]),
        ({"version": "v1", "count": True}, ["parameters.count"]),
        ({"version": "v1", "count": 4}, ["parameters.count"]),
        ({"version": "v1", "other": 1}, ["parameters.other"]),
        ({"version": "v1", "x-a": 1}, ["parameters.x-a"]),
        ({"version": "v1", "tags": [{}, {}]}, ["parameters.tags"]),
    ],
)
def test_the_schema_of_a_tool_must_hold(parameters: dict[str, Any], paths: list[str]) -> None:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=SCHEMA)
    found = parameter_faults(tool, parameters)
    assert [(f.code, f.path) for f in found] == [("invalid_parameter", path) for path in paths]
    assert schema_problems(SCHEMA) == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "The tool needs all of these here: version."),
        ({"version": 1}, "Nothing is converted: send this as string."),
        (
            {"version": "v1", "count": 4},
            "Change this to what the tool asks for: maximum 3.",
        ),
        (
            {"version": "v1", "Count": 1},
            "The tool takes no field of this name: remove it or correct its name. "
            "Did you mean count?",
        ),
    ],
)
def test_a_parameter_that_is_refused_is_told_how_it_would_do(
    parameters: dict[str, Any], words: str
) -> None:
    """They said: The tool asks for required ["version"]."""
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=SCHEMA)

    assert [fault.suggestion for fault in parameter_faults(tool, parameters)] == [words]


@pytest.mark.parametrize("names", [40, 2_000])
def test_of_many_fields_that_a_tool_needs_those_are_told_that_are_absent(names: int) -> None:
    """The first of all were told, whole or not, and whoever had written those never learnt more."""
    needed = [f"a_name_of_some_length_{number}" for number in range(names)]
    shape = {"properties": {name: {} for name in needed}, "required": needed}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=shape)
    sent: dict[str, Any] = dict.fromkeys(needed[:-2], 1)

    told = {fault.suggestion for fault in parameter_faults(tool, sent)}
    all_told = str(parameter_faults(tool, {})[0].suggestion)

    assert told == {f"The tool needs all of these here: {needed[-2]}, {needed[-1]}."}
    assert all_told.endswith(", …")
    assert set(all_told.partition(": ")[2].split(", ")) <= {*needed, "…"}


def test_a_field_that_a_tool_needs_is_told_however_long_its_name_is() -> None:
    name = "n" * 200
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters={"required": [name, "b"]})

    told = {str(fault.suggestion) for fault in parameter_faults(tool, {})}

    assert told == {f"The tool needs all of these here: {name}, …"}


def test_of_many_fields_that_a_tool_takes_none_is_told_by_half_its_name() -> None:
    takes = {f"a_name_of_some_length_{number}": {} for number in range(40)}
    shape = {"properties": takes, "additionalProperties": False}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=shape)

    (fault,) = parameter_faults(tool, {"other": 1})

    assert set(str(fault.required).removeprefix("one of ").split(", ")) <= {*takes, "…"}


@pytest.mark.parametrize(("names", "asked"), [(64, True), (65, False)])
def test_a_name_is_compared_with_no_more_than_some_others(names: int, *, asked: bool) -> None:
    """A document with names of its own held the loop for 0.2 s where a tool takes 500 fields."""
    takes = {f"field_{number}": {} for number in range(names)}
    shape = {"properties": takes, "additionalProperties": False}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=shape)

    (fault,) = parameter_faults(tool, {"feld_7": 1})

    assert ("Did you mean field_7?" in str(fault.suggestion)) is asked


def test_who_sends_a_field_too_many_hears_which_there_are_and_not_what_the_whole_is() -> None:
    """It said: Change this to what the tool asks for: A deployment."""
    tool = a_tool(
        "probe", Tier.AUTO, ActionType.EXECUTE, parameters=SCHEMA | {"description": "A deployment."}
    )

    (fault,) = parameter_faults(tool, {"version": "v1", "why": 1})
    assert fault.required == "one of count, tags, version"
    assert "remove it" in fault.suggestion


def test_the_words_of_a_schema_are_told_where_it_has_some() -> None:
    sku = {"type": "string", "description": "A number of the catalogue, as in A-17."}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters={"properties": {"sku": sku}})

    (fault,) = parameter_faults(tool, {"sku": 17})
    assert fault.suggestion.endswith("asks for: A number of the catalogue, as in A-17.")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"type": "string", "description": "A name.\n"}, "asks for: A name."),
        ({"type": "string", "description": "A name, or none?"}, "asks for: A name, or none?"),
        ({"type": "string", "description": " "}, "send this as string."),
        (False, "asks for: no field that its schema forbids."),
    ],
)
def test_a_remedy_reads_as_a_sentence_whatever_the_schema_says(shape: Any, words: str) -> None:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters={"properties": {"a": shape}})

    (fault,) = parameter_faults(tool, {"a": 17})
    assert fault.suggestion.endswith(words)


def test_a_value_that_breaks_the_schema_is_never_repeated() -> None:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=SCHEMA)
    secret = "hunter2-hunter2"
    found = parameter_faults(tool, {"version": secret, "count": secret, "x-a": [secret]})
    assert found
    assert secret not in repr(found)


@pytest.mark.timeout(10)
def test_a_pattern_cannot_be_used_to_stop_the_bot() -> None:
    evil = {"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(b+)+$": {}}}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=evil)
    assert parameter_faults(tool, {"a": "a" * 40_000 + "!", "b" * 10_000 + "!": 1})


@pytest.mark.timeout(10)
def test_many_equal_items_are_compared_in_one_pass() -> None:
    shape = {"properties": {"tags": {"uniqueItems": True}}}
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, parameters=shape)
    assert parameter_faults(tool, {"tags": [{"n": n} for n in range(6_000)] + [{"n": 1}]})


@pytest.mark.parametrize(
    ("step", "multiples", "others"),
    [
        (0.01, [0.07, 19.99, 0.29, 1e300, 5, -4.35], [0.075, 19.995, 1e-7]),
        (0.02, [0.06, 4.58], [0.07, 4.59]),
        (5, [10, 10.0, 0], [7, 2.5, 9007199254740991]),
    ],
)
def test_a_multiple_is_judged_by_the_numbers_as_they_are_written(
    step: float, multiples: list[float], others: list[float]
) -> None:
    shape = {"properties": {"amount": {"multipleOf": step}}}
    tool = a_tool("pay", Tier.PROPOSE, ActionType.TRANSACT, parameters=shape)
    let_through = [n for n in [*multiples, *others] if not parameter_faults(tool, {"amount": n})]
    assert let_through == multiples
    assert not parameter_faults(tool, {"amount": "19.995"})
    assert not parameter_faults(tool, {"amount": True})


# ----------------------------------------------------------------------- rollback and digests


@pytest.mark.parametrize(
    ("base", "kind"),
    [(MAIL, "compensated"), (MAIL, "magic"), (PROD, "deferred"), (PROD, "compensated")],
)
def test_a_rollback_that_the_tool_cannot_do_is_refused(base: dict[str, Any], kind: str) -> None:
    document = a_document(base, rollback_semantics={"kind": kind})
    assert faults_of(document) == [("rollback_not_available", "rollback_semantics.kind")]
