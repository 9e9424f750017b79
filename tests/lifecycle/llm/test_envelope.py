"""What stands around a plan: strict, in order, and never routed where nothing is known."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.errors import Refused
from lifecycle.llm.envelope import read_envelope
from lifecycle.llm.normalizer import InstructionPolicy, Normalizer, Terms
from lifecycle.llm.routing import Unknown, decide

TERMS = Terms(
    Normalizer("n.v1"), {"pol1_x": InstructionPolicy(frozenset({"n.v1"}), frozenset({"c1", "c2"}))}
)
ABSENT = object()


def an_envelope(**changes: Any) -> dict[str, Any]:
    envelope: dict[str, Any] = {
        "schema": 1,
        "intent": "say what is to be done",
        "scope": {"kind": "repo"},
        "normalizerId": "n.v1",
        "policyDigest": "pol1_x",
        "requestedChecks": ["c1"],
    }
    return {key: value for key, value in (envelope | changes).items() if value is not ABSENT}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"schema": 2, "intent": ""}, "instruction_invalid_schema"),
        ({"schema": True}, "instruction_invalid_schema"),
        ({"intent": " padded", "normalizerId": ""}, "instruction_invalid_intent"),
        ({"normalizerId": "n.v1 ", "policyDigest": ""}, "instruction_invalid_normalizer"),
        ({"policyDigest": 1, "scope": ABSENT}, "instruction_invalid_policy_digest"),
        ({"scope": ABSENT, "requestedChecks": []}, "instruction_scope_missing"),
        ({"scope": None}, "instruction_scope_missing"),
        ({"scope": {}, "requestedChecks": []}, "instruction_scope_invalid"),
        ({"scope": " "}, "instruction_scope_invalid"),
        ({"requestedChecks": []}, "instruction_requested_checks_invalid"),
        ({"requestedChecks": ["c1", "c1"]}, "instruction_requested_checks_invalid"),
        ({"requestedChecks": ["c1", 1]}, "instruction_requested_checks_invalid"),
        ({"policyDigest": "pol1_y", "requestedChecks": ["c9"]}, "instruction_unknown_policy"),
        ({"requestedChecks": ["c9"], "normalizerId": "n.v2"}, "instruction_check_not_allowed"),
        ({"normalizerId": "n.v2", "instructionType": ""}, "instruction_normalizer_not_allowed"),
        ({"instructionType": 1, "typingPolicy": 1}, "instruction_instruction_type_invalid"),
        ({"typingPolicy": [], "capabilityClaims": 1}, "instruction_typing_policy_invalid"),
        ({"typingPolicy": {"allowUnknown": 1}}, "instruction_typing_policy_invalid"),
        ({"capabilityClaims": ["a", "a"], "proposal": 1}, "instruction_capability_claims_invalid"),
        ({"proposal": {}, "llmProposal": {}}, "proposal_invalid_shape"),
        ({"proposal": None}, "proposal_invalid_shape"),
    ],
)
def test_the_first_failing_check_names_the_class(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(Refused) as caught:
        read_envelope(an_envelope(**changes), TERMS)
    assert caught.value.code == expected


@pytest.mark.parametrize("raw", [None, [], "x", 1])
def test_an_envelope_is_an_object(raw: Any) -> None:
    with pytest.raises(Refused) as caught:
        read_envelope(raw, TERMS)
    assert caught.value.code == "instruction_envelope_invalid_shape"


@pytest.mark.parametrize("key", ["proposal", "llmProposal"])
def test_a_plan_is_bound_to_what_its_envelope_is_bound_to(key: str) -> None:
    plan = {
        "proposalKind": "value",
        "targetCtxRef": "ctx:a",
        "targetJudgment": {"kind": "obj", "shape": "s"},
        "binding": {"normalizerId": "n.v1", "policyDigest": "pol1_other"},
    }
    with pytest.raises(Refused) as caught:
        read_envelope(an_envelope(**{key: plan}), TERMS)
    assert caught.value.code == "proposal_binding_mismatch"


def test_unknown_is_never_executed_unless_that_is_said() -> None:
    assert decide(Unknown("x"), None, allow_unknown=False).operational == (
        "instruction_unknown_unroutable",
    )
    assert decide(Unknown("x"), None, allow_unknown=True).accepted
