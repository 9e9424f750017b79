"""Reading a plan: in order, trimmed, bounded, and the same digest for the same meaning."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.errors import Refused
from lifecycle.llm.normalizer import Normalizer, Terms
from lifecycle.llm.obligations import discharge
from lifecycle.llm.plan import read_plan

TERMS = Terms(Normalizer("n.v1"), most_steps=2, most_refs=2, most_candidates=2)
BINDING = {"normalizerId": "n.v1", "policyDigest": "pol1_x"}
STEP = {"ruleId": "r", "inputs": ["a"], "outputs": ["b"], "claim": "c"}


def a_plan(**changes: Any) -> dict[str, Any]:
    plan = {
        "proposalKind": "value",
        "targetCtxRef": "ctx:a",
        "targetJudgment": {"kind": "obj", "shape": "s"},
        "candidateRefs": ["x"],
        "binding": BINDING,
    }
    return {key: value for key, value in (plan | changes).items() if value is not None}


def code(**changes: Any) -> str:
    with pytest.raises(Refused) as caught:
        read_plan(a_plan(**changes), TERMS)
    return caught.value.code


def test_padding_order_and_repetition_of_candidates_do_not_change_the_digest() -> None:
    one = read_plan(a_plan(candidateRefs=["x", "y"]), TERMS)
    other = read_plan(
        a_plan(candidateRefs=[" y ", "x", "y"], targetCtxRef=" ctx:a\n", note="?"), TERMS
    )
    assert one.digest == other.digest
    assert one.kcir == other.kcir


def test_the_order_of_inputs_changes_the_digest() -> None:
    kind = {"proposalKind": "derivation"}
    one = read_plan(a_plan(**kind, steps=[STEP | {"inputs": ["a", "b"]}]), TERMS)
    other = read_plan(a_plan(**kind, steps=[STEP | {"inputs": ["b", "a"]}]), TERMS)
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"proposalKind": "wish", "targetCtxRef": ""}, "proposal_invalid_kind"),
        ({"targetCtxRef": "  ", "targetJudgment": 1}, "proposal_invalid_target"),
        (
            {"targetJudgment": {"kind": ["obj"], "shape": "s"}, "binding": 1},
            "proposal_invalid_target_judgment",
        ),
        ({"binding": {"normalizerId": "n.v1"}, "candidateRefs": [""]}, "proposal_unbound_policy"),
        ({"candidateRefs": ["x", 1]}, "proposal_invalid_step"),
        ({"steps": [STEP]}, "proposal_invalid_step"),
        ({"proposalDigest": "prop1_0"}, "proposal_nondeterministic"),
        ({"proposalKcirRef": "kcir1_0"}, "proposal_kcir_ref_mismatch"),
    ],
)
def test_the_first_failing_check_names_the_class(changes: dict[str, Any], expected: str) -> None:
    assert code(**changes) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"candidateRefs": ["x", "y", "z"]},
        {"proposalKind": "derivation", "steps": [STEP] * 3},
        {"proposalKind": "derivation", "steps": [STEP | {"inputs": ["a"] * 3}]},
        {"proposalKind": "derivation", "steps": [STEP | {"outputs": ["a"] * 3}]},
    ],
)
def test_what_is_longer_than_allowed_is_no_plan(changes: dict[str, Any]) -> None:
    assert code(**changes) == "proposal_invalid_step"


def test_a_plan_without_candidates_reaches_nothing() -> None:
    found = discharge(read_plan(a_plan(candidateRefs=[]), TERMS), TERMS.normalizer)
    assert not found.accepted
    assert found.failure_classes == ("descent_failure",)


def test_two_values_at_once_are_not_chosen_between() -> None:
    found = discharge(read_plan(a_plan(candidateRefs=["x", "y"]), TERMS), TERMS.normalizer)
    assert found.failure_classes == ("glue_non_contractible",)
