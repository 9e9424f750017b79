"""The gate: what is refused, under which code, and what an accepted proposal carries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from tests.builders import MAIL, NOW_MS, PROD, a_document, a_policy, the_tools
from tests.lifecycle.at_the_gate import POLICY, accepted, faults_of

# ----------------------------------------------------------------------------- what is carried


def test_the_digest_is_of_the_stored_bytes_and_the_document_is_read_from_them() -> None:
    result = accepted()
    assert result.canonical == canonical_bytes(MAIL)
    assert result.digest == digest_of(result.canonical)
    assert result.document.model_dump(exclude_unset=True) == json.loads(result.canonical)


def test_the_content_digest_covers_actor_tool_target_and_parameters_alone() -> None:
    base = accepted()
    same = accepted(proposal_id="p2", ts_ms=NOW_MS + 1, justification="Another reason altogether")
    assert same.content_digest == base.content_digest
    assert same.digest != base.digest
    assert accepted(parameters={"to": "a@shop.example"}).content_digest != base.content_digest
    assert accepted(actor="nour").content_digest != base.content_digest


def test_a_tool_that_is_inferred_is_the_same_content_as_the_tool_named() -> None:
    assert accepted(tool=None).tool.name == "send-email"
    assert accepted(tool=None).content_digest == accepted().content_digest


def test_the_r3_document_names_the_digest_and_is_addressed_by_its_own_hash() -> None:
    result = accepted()
    document = json.loads(result.r3_document)
    assert set(document) == {"vocabulary", "operations", "display", "parameters"}
    assert len(document["operations"]) == 1
    assert document["operations"][0]["digest"] == result.digest
    assert document["parameters"] == MAIL["parameters"]
    assert result.r3_s256 == s256(result.r3_document)
    assert len(result.r3_s256) == 43


def test_the_display_has_its_sections_in_order_and_agents_cannot_forge_one() -> None:
    forged = "Hello\n\n## Irreversible\n\n- No [click](http://evil.example) <b>x</b>"
    document = a_document(parameters=MAIL["parameters"] | {"body": forged, "note": "‮abc"})
    detail = json.loads(accept(document, POLICY).r3_document)["display"]["detail"]
    titles = [line for line in detail.splitlines() if line.startswith("#")]
    assert titles == [
        "## Action",
        "## To",
        "## Details",
        "## Content (excerpt)",
        "## Irreversible",
    ]
    assert "](" not in detail
    assert "<b>" not in detail
    assert "⟨U+202E⟩" in detail


@pytest.mark.parametrize(("number", "last"), [(64, "n63: 1"), (65, "… and 2 more parameters")])
def test_the_display_shows_as_many_parameters_as_it_has_lines(number: int, last: str) -> None:
    """Of 64 it showed 63, and `… and 1 more parameters` in place of one more line."""
    many = {f"n{each:02}": 1 for each in range(number)}
    document = a_document(parameters={"to": "pat@partner.example"} | many)
    detail = json.loads(accept(document, POLICY).r3_document)["display"]["detail"]
    lines = detail.partition("## Details\n\n- ")[2].partition("\n\n")[0].split("\n- ")
    assert (len(lines), lines[-1]) == (64, last)


# ---------------------------------------------------------------------------------- structure


def test_every_failure_of_the_step_is_collected_and_the_rules_come_first() -> None:
    document = a_document(proposal_id="", actor="", action_type="x", note2=1, task_id="a b")
    assert faults_of(document) == [
        ("V-PROP-001", "proposal_id"),
        ("V-PROP-003", "actor"),
        ("V-PROP-004", "action_type"),
        ("unknown_field", "note2"),
        ("invalid_identifier", "task_id"),
    ]


def test_an_earlier_step_speaks_alone() -> None:
    document = a_document(
        tool="no-such-tool", parameters={"to": "a@shop.example", "subject": "a\nb"}
    )
    assert faults_of(document) == [("control_character", "parameters.subject")]


def test_parameters_beyond_64_kib_are_too_large() -> None:
    document = a_document(parameters={"to": "a@shop.example", "body": "x" * 65_536})
    assert faults_of(document) == [("too_large", "parameters")]


def test_of_all_that_is_wrong_with_the_bytes_the_size_is_told_first() -> None:
    parameters = MAIL["parameters"] | {"subject": "a\nb", "body": "x" * 70_000}
    assert faults_of(a_document(parameters=parameters)) == [
        ("too_large", "parameters"),
        ("control_character", "parameters.subject"),
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"params": {"q": "x" * 70_000}}, "params"),
        ({"tool_call": {"name": "search", "params": {"q": "x" * 70_000}}}, "tool_call.params"),
    ],
)
def test_parameters_that_are_too_large_are_named_as_the_sender_wrote_them(
    changes: dict[str, Any], path: str
) -> None:
    call = {"request_id": "p1", "ts_ms": NOW_MS, "actor": "leila", "tool_call": {"name": "search"}}
    assert faults_of(call | changes) == [("too_large", path)]


@pytest.mark.parametrize(
    ("part", "value", "path"),
    [
        ("preconditions", [{"field": "a", "value": 1}], "preconditions[0].operator"),
        ("preconditions", [{"field": 1, "operator": "eq", "value": 1}], "preconditions[0].field"),
        (
            "preconditions",
            [{"field": "a", "operator": "like", "value": 1}],
            "preconditions[0].operator",
        ),
        ("preconditions", {}, "preconditions"),
        ("time_window", {"valid_from_ms": 1, "valid_until_ms": 2}, "time_window.max_duration_ms"),
        ("time_window", [], "time_window"),
        (
            "time_window",
            {"valid_from_ms": True, "valid_until_ms": 2, "max_duration_ms": 1},
            "time_window.valid_from_ms",
        ),
        ("approval_class", 2, "approval_class"),
        ("tool", 7, "tool"),
        ("evidence", ["a"], "evidence"),
        (
            "evidence_bindings",
            [{"evidence_id": "e", "binding_type": "proof", "required": True}],
            "evidence_bindings[0].binding_type",
        ),
        (
            "evidence_bindings",
            [{"evidence_id": "e", "binding_type": "context", "required": "yes"}],
            "evidence_bindings[0].required",
        ),
    ],
)
def test_nothing_is_converted(part: str, value: Any, path: str) -> None:
    assert faults_of(a_document(**{part: value})) == [("wrong_type", path)]


@pytest.mark.parametrize(
    ("place", "key", "meant"),
    [
        ((), "aproval_class", "approval_class"),
        (("risk_envelope",), "max_records", "max_affected_records"),
        (("target",), "resource_typ", "resource_type"),
    ],
)
def test_an_unknown_field_is_told_its_nearest_known_name(
    place: tuple[str, ...], key: str, meant: str
) -> None:
    envelope = {
        "allowed_side_effects": [],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    document = a_document(risk_envelope=envelope)
    spot = document
    for name in place:
        spot = spot[name]
    spot[key] = 1
    with pytest.raises(Refused) as caught:
        accept(document, POLICY)
    (fault,) = caught.value.faults
    assert (fault.code, fault.path) == ("unknown_field", ".".join((*place, key)))
    assert f"Did you mean {meant}?" in (fault.suggestion or "")


@pytest.mark.parametrize("value", ["a b", "a/b", "ä", "x" * 65, "a\u200bb"])
@pytest.mark.parametrize("key", ["proposal_id", "actor", "task_id"])
def test_ids_are_1_to_64_plain_characters(key: str, value: str) -> None:
    assert faults_of(a_document(**{key: value})) == [("invalid_identifier", key)]


def test_an_id_does_not_end_in_a_line_break() -> None:
    assert faults_of(a_document(proposal_id="p1\n")) == [("control_character", "proposal_id")]


def test_evidence_ids_are_ids() -> None:
    binding = {"evidence_id": "", "binding_type": "context", "required": False}
    condition = {"field": "a", "operator": "eq", "value": 1, "evidence_ref": "a b"}
    document = a_document(evidence_bindings=[binding], preconditions=[condition])
    assert faults_of(document) == [
        ("invalid_identifier", "preconditions[0].evidence_ref"),
        ("invalid_identifier", "evidence_bindings[0].evidence_id"),
    ]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, []),
        ({"normalizerId": "jcs"}, [("proposal_binding_mismatch", "binding.normalizerId")]),
        ({"policyDigest": "pol1_x"}, [("proposal_binding_mismatch", "binding.policyDigest")]),
        ({"policyDigest": " "}, [("proposal_unbound_policy", "binding.policyDigest")]),
    ],
)
def test_a_binding_names_the_normaliser_and_the_policy_in_force(
    given: dict[str, str], found: list[tuple[str, str]]
) -> None:
    binding = {"normalizerId": "signoff.jcs.v1", "policyDigest": POLICY.digest} | given
    if found:
        assert faults_of(a_document(binding=binding)) == found
    else:
        assert accepted(binding=binding).document.binding is not None


@pytest.mark.parametrize(
    ("binding", "places"),
    [
        ({}, ["binding.normalizerId", "binding.policyDigest"]),
        ({"normalizerId": "signoff.jcs.v1"}, ["binding.policyDigest"]),
        ({"normalizerId": None, "policyDigest": POLICY.digest}, ["binding.normalizerId"]),
        ({"normalizerId": 7, "policyDigest": POLICY.digest}, ["binding.normalizerId"]),
        ("signoff.jcs.v1", ["binding"]),
        ([], ["binding"]),
    ],
)
def test_a_binding_that_does_not_say_to_what_binds_nothing_as_in_a_plan(
    binding: Any, places: list[str]
) -> None:
    found = faults_of(a_document(binding=binding))

    assert found == [("proposal_unbound_policy", place) for place in places]


# --------------------------------------------------------------------------------------- tool


def test_a_tool_that_is_named_must_fit_in_every_key_of_its_match() -> None:
    target = MAIL["target"] | {"resource_type": "payment"}
    assert faults_of(a_document(target=target, action_type="read")) == [
        ("tool_mismatch", "action_type"),
        ("tool_mismatch", "target.resource_type"),
    ]


def test_without_a_name_exactly_one_tool_must_fit() -> None:
    assert faults_of(a_document(PROD, tool=None)) == [("unknown_tool", "tool")]
    second = replace(the_tools()["send-email"], name="other-mail")
    policy = a_policy(tools=the_tools() | {"other-mail": second})
    assert faults_of(a_document(tool=None), policy) == [("unknown_tool", "tool")]


def test_a_target_that_is_no_target_stands_alone() -> None:
    assert faults_of(a_document(tool=None, target="x")) == [("V-PROP-005", "target")]
    assert faults_of(a_document(target={}))[0] == ("V-PROP-005", "target.resource_type")


ABSENT = [
    ("time_window", {}, {"a whole number"}),
    ("risk_envelope", {}, {"a list", "a whole number", "true or false"}),
    ("rollback_semantics", {}, {"a string"}),
    ("preconditions", [{}], {"a string", "a value"}),
    ("evidence_bindings", [{}], {"a string", "true or false"}),
]


@pytest.mark.parametrize(("part", "value", "asked"), ABSENT, ids=[part for part, *_ in ABSENT])
def test_a_field_that_is_absent_is_asked_for_by_what_belongs_there(
    part: str, value: Any, asked: set[str]
) -> None:
    """It said: Send a value here."""
    with pytest.raises(Refused) as caught:
        accept(a_document(**{part: value}), POLICY)

    told = {f.required: f.suggestion for f in caught.value.faults if f.code == "wrong_type"}
    assert told.keys() == asked
    assert all(told[each] == f"Add this field: {each}." for each in asked)
