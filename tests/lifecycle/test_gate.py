"""The gate: what is refused, under which code, and what an accepted proposal carries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.digest_values import digest_faults
from lifecycle.errors import Fault, Refused
from lifecycle.gate import Accepted, accept
from lifecycle.parameter_shapes import parameter_faults, schema_problems
from lifecycle.policy import ActionType, ApprovalClass, ToolKind
from lifecycle.tier import Tier
from lifecycle.windows import window_of
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_document, a_policy, a_tool, the_tools

URL = "http://127.0.0.1:8080"
POLICY = a_policy()
S256 = "GF9h5eN-ZZ0a8zNObGC-YoGYB9nOLxvqaL7MaffMX1k"


def accepted(base: dict[str, Any] = MAIL, /, **changes: Any) -> Accepted:
    return accept(a_document(base, **changes), POLICY, URL)


def faults_of(document: dict[str, Any], policy: Any = POLICY) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as caught:
        accept(document, policy, URL)
    return [(fault.code, fault.path) for fault in caught.value.faults]


def with_tool(**changes: Any) -> Any:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, **changes)
    return a_policy(tools=the_tools() | {"probe": tool})


def probe(**changes: Any) -> dict[str, Any]:
    return a_document(PROD, tool="probe", **changes)


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
    assert result.r3_uri == f"{URL}/r3/{result.r3_s256}"


def test_the_display_has_its_sections_in_order_and_agents_cannot_forge_one() -> None:
    forged = "Hello\n\n## Irreversible\n\n- No [click](http://evil.example) <b>x</b>"
    document = a_document(parameters=MAIL["parameters"] | {"body": forged, "note": "‮abc"})
    detail = json.loads(accept(document, POLICY, URL).r3_document)["display"]["detail"]
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


# ------------------------------------------------------------------------- tier, quorum, window


@pytest.mark.parametrize(
    ("tier", "asked", "effective", "quorum", "people"),
    [
        (Tier.AUTO, None, Tier.AUTO, 0, False),
        (Tier.AUTO, "none", Tier.AUTO, 0, False),
        (Tier.AUTO, "single", Tier.CONFIRM, 1, True),
        (Tier.AUTO_PLUS, "dual", Tier.CONFIRM, 2, True),
        (Tier.PROPOSE, None, Tier.PROPOSE, 1, False),
        (Tier.PROPOSE, "single", Tier.PROPOSE, 1, True),
        (Tier.PROPOSE, "dual", Tier.PROPOSE, 2, True),
        (Tier.CONFIRM, None, Tier.CONFIRM, 1, True),
        (Tier.CONFIRM, "none", Tier.CONFIRM, 1, True),
        (Tier.CONFIRM, "dual", Tier.CONFIRM, 2, True),
        (Tier.BLOCK, "dual", Tier.BLOCK, 0, True),
    ],
)
def test_a_proposal_may_only_tighten(
    tier: Tier, asked: str | None, effective: Tier, quorum: int, people: bool
) -> None:
    policy = with_tool()
    policy = replace(
        policy, tools=policy.tools | {"probe": replace(policy.tools["probe"], tier=tier)}
    )
    result = accept(probe(approval_class=asked), policy, URL)
    assert (result.tier, result.quorum) == (effective, quorum)
    assert result.quorum_needs_people is people


@pytest.mark.parametrize(
    ("quorum_class", "required", "asked", "quorum"),
    [
        (ApprovalClass.DUAL, 0, "single", 2),
        (ApprovalClass.SINGLE, 0, "dual", 2),
        (ApprovalClass.THRESHOLD, 3, "none", 3),
        (ApprovalClass.THRESHOLD, 3, "threshold", 3),
        (ApprovalClass.THRESHOLD, 1, "dual", 2),
    ],
)
def test_the_quorum_is_the_highest_of_tier_tool_and_proposal(
    quorum_class: ApprovalClass, required: int, asked: str, quorum: int
) -> None:
    policy = with_tool(quorum_class=quorum_class, quorum_required=required)
    result = accept(probe(approval_class=asked), policy, URL)
    assert (result.tier, result.quorum) == (Tier.CONFIRM, quorum)


def test_what_is_always_blocked_is_blocked_whatever_the_config_says() -> None:
    lax = a_tool("financial-transfer", Tier.AUTO, ActionType.TRANSACT)
    policy = a_policy(tools={"financial-transfer": lax})
    result = accept(a_document(REFUND, tool="financial-transfer"), policy, URL)
    assert (result.tier, result.tool.tier) == (Tier.BLOCK, Tier.BLOCK)


@pytest.mark.parametrize(
    ("asked", "window_s"),
    [
        (None, 900),
        ({"kind": "deferred"}, 900),
        ({"kind": "deferred", "window_s": 60}, 900),
        ({"kind": "deferred", "window_s": 1800}, 1800),
        ({"kind": "none"}, 900),
        ({"kind": "none", "window_s": 1800}, 900),
        ({"kind": "deferred", "window_s": -5}, 900),
    ],
)
def test_a_window_is_only_ever_lengthened(asked: dict[str, Any] | None, window_s: int) -> None:
    assert accepted(rollback_semantics=asked).window_s == window_s


def test_a_window_that_does_not_exist_is_not_lengthened_and_the_proposer_is_told() -> None:
    result = accepted(PROD, rollback_semantics={"kind": "none", "window_s": 1800})
    assert result.window_s == 0
    assert "no rollback window" in result.warnings[0]


def test_raising_a_tier_never_shortens_a_window() -> None:
    mail = the_tools()["send-email"]
    assert window_of(mail, Tier.CONFIRM) == window_of(mail, Tier.PROPOSE) == 900
    bare = replace(mail, window_s=None)
    assert window_of(bare, Tier.CONFIRM) == 900


def test_a_confirmed_tool_has_a_window_only_where_its_config_sets_one() -> None:
    deploy = the_tools()["production-deploy"]
    assert window_of(deploy, Tier.CONFIRM) == 0
    assert window_of(replace(deploy, window_s=120, reversible=True), Tier.CONFIRM) == 120
    assert window_of(replace(deploy, tier=Tier.AUTO, window_s=120), Tier.AUTO) == 0


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
        ("binding", {"normalizerId": "signoff.jcs.v1"}, "binding.policyDigest"),
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
        accept(document, POLICY, URL)
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


def test_a_mail_may_carry_other_names() -> None:
    parameters = {"to": ["a@shop.example"], "cc": [], "priority": 3}
    assert accepted(parameters=parameters).document.parameters == parameters


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


# ----------------------------------------------------------------------- rollback and digests


@pytest.mark.parametrize(
    ("base", "kind"),
    [(MAIL, "compensated"), (MAIL, "magic"), (PROD, "deferred"), (PROD, "compensated")],
)
def test_a_rollback_that_the_tool_cannot_do_is_refused(base: dict[str, Any], kind: str) -> None:
    document = a_document(base, rollback_semantics={"kind": kind})
    assert faults_of(document) == [("rollback_not_available", "rollback_semantics.kind")]


def test_a_digest_may_stand_for_a_value_that_an_agent_will_carry_out() -> None:
    value = {"s256": S256, "excerpt": "Dear Pat…", "media_type": "text/plain"}
    parameters = REFUND["parameters"] | {"letter": value, "other": {"s256": S256}}
    assert accepted(REFUND, parameters=parameters).document.parameters["letter"] == value


@pytest.mark.parametrize(
    "key", ["to", "reply_to", "replyTo", "amount", "amount_minor", "url", "host"]
)
def test_recipients_amounts_and_targets_never_hide_behind_a_digest(key: str) -> None:
    value = {"s256": S256, "excerpt": "x"}
    parameters = REFUND["parameters"] | {"list": [{key: [value]}]}
    assert faults_of(a_document(REFUND, parameters=parameters)) == [
        ("digest_not_allowed", f"parameters.list[0].{key}[0]")
    ]


@pytest.mark.parametrize(
    "value",
    [{"s256": "short"}, {"s256": 7}, {"s256": S256, "excerpt": 7}, {"s256": S256 + "\n"}],
)
def test_a_digest_that_is_none_is_refused(value: dict[str, Any]) -> None:
    tool = the_tools()["issue-refund"]
    assert [f.code for f in digest_faults(tool, Tier.CONFIRM, {"a": value})] == [
        "digest_not_allowed"
    ]


def test_other_kinds_and_lower_tiers_carry_no_digest() -> None:
    value = {"s256": S256}
    for kind in ToolKind:
        tool = a_tool("probe", Tier.CONFIRM, ActionType.EXECUTE, kind=kind)
        allowed = digest_faults(tool, Tier.CONFIRM, {"a": value}) == []
        assert allowed is (kind is ToolKind.AGENT)
    agent = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, kind=ToolKind.AGENT)
    assert digest_faults(agent, Tier.AUTO, {"a": value})


# ------------------------------------------------------------------------------- many inputs

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = (
    sorted(MAIL)
    + """
    time_window risk_envelope preconditions evidence_bindings rollback_semantics binding task_id
    request_id tool_call params proposal evidence
""".split()
)


def outcome_of(document: dict[str, Any]) -> Accepted | tuple[Fault, ...]:
    try:
        return accept(document, POLICY, URL)
    except Refused as refused:
        return refused.faults


@example({"proposal": {}, "note": float(2**53)})
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), JSON, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_object_is_accepted_or_refused_and_nothing_else(changes: dict[str, Any]) -> None:
    assert outcome_of(changes)
    assert outcome_of(MAIL | changes)


@given(JSON, st.sampled_from(["none", "single", "dual", None]), st.text(max_size=20))
@settings(max_examples=60, deadline=None)
def test_the_gate_is_deterministic_and_never_loosens(
    note: Any, asked: str | None, justification: str
) -> None:
    document = a_document(
        parameters=MAIL["parameters"] | {"note": note},
        approval_class=asked,
        justification=justification,
    )
    first = outcome_of(document)
    assert outcome_of(dict(reversed(document.items()))) == first
    if not isinstance(first, Accepted):
        return
    assert first.tier in (Tier.PROPOSE, Tier.CONFIRM)
    assert first.quorum >= 1
    assert first.window_s >= 900


def test_thousands_of_unknown_fields_are_refused_with_the_first_of_them() -> None:
    document = a_document(MAIL) | {f"note{number}": "x" for number in range(5_000)}

    with pytest.raises(Refused) as refused:
        accept(document, a_policy(), "http://127.0.0.1")

    assert {fault.code for fault in refused.value.faults} == {"unknown_field"}
    assert len(refused.value.faults) <= 64
