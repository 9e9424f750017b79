"""Kind A, as far as the gate and the meaning decide it."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.meaning import meaning_faults
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_document, a_policy

POLICY = a_policy()
ENVELOPE: dict[str, Any] = {
    "allowed_side_effects": ["deploy"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}


def refusal_of(document: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        accept(document, POLICY)
    return caught.value


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"risk_envelope": ENVELOPE | {"reversible_required": "NO"}}, "wrong_type",
         "risk_envelope.reversible_required"),
        ({"risk_envelope": ENVELOPE | {"reversible_required": 1}}, "wrong_type",
         "risk_envelope.reversible_required"),
        ({"risk_envelope": ENVELOPE | {"max_affected_records": "10"}}, "wrong_type",
         "risk_envelope.max_affected_records"),
        ({"risk_envelope": ENVELOPE | {"max_affected_records": True}}, "wrong_type",
         "risk_envelope.max_affected_records"),
        ({"actor": 12345}, "V-PROP-003", "actor"),
    ],
)  # fmt: skip
def test_A07_words_and_booleans_are_not_turned_into_other_types(
    changes: dict[str, Any], code: str, path: str
) -> None:
    refusal = refusal_of(a_document(PROD, **changes))
    assert [(fault.code, fault.path) for fault in refusal.faults] == [(code, path)]


def test_A07_an_amount_that_is_true_stays_true_for_the_rule_to_judge() -> None:
    document = a_document(REFUND, parameters={"amount": True, "currency": "USD"})
    assert accept(document, POLICY).document.parameters["amount"] is True


@pytest.mark.parametrize(
    ("document", "key", "meant"),
    [
        (a_document(PROD, approval_class=None, aproval_class="dual"), "aproval_class",
         "approval_class"),
        (a_document(MAIL, note2="x"), "note2", None),
    ],
)  # fmt: skip
def test_A08_a_misspelt_field_is_refused_with_the_nearest_known_name(
    document: dict[str, Any], key: str, meant: str | None
) -> None:
    refusal = refusal_of(document)
    assert (refusal.code, refusal.faults[0].path) == ("unknown_field", key)
    assert meant is None or f"Did you mean {meant}?" in str(refusal)


def a_window(until_ms: int) -> dict[str, Any]:
    bounds = {"valid_from_ms": NOW_MS, "valid_until_ms": until_ms, "max_duration_ms": 1000}
    return {"time_window": bounds}


@pytest.mark.parametrize(
    "changes",
    [
        {"ts_ms": NOW_MS // 1000},
        a_window((NOW_MS + 60_000) // 1000),
        a_window(NOW_MS * 1000),
        {"ts_ms": NOW_MS + 2 * 86_400_000},
    ],
    ids=["seconds in ts_ms", "seconds in a window", "a window without end", "two days ahead"],
)
def test_A12_a_time_in_another_unit_is_implausible(changes: dict[str, Any]) -> None:
    accepted = accept(a_document(MAIL, **changes), POLICY)
    faults = meaning_faults(accepted, POLICY, NOW_MS, lambda _: None)
    assert faults[0].code == "implausible_time"
