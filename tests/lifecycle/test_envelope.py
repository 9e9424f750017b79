"""A receipt is what somebody else wrote: whatever is no honest report is an excess."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.calls.envelope import envelope_excess
from tests.builders import MAIL, a_document, a_proposal

ENVELOPE = {
    "allowed_side_effects": ["email", "payment"],
    "forbidden_effects": ["payment"],
    "max_affected_records": 2,
    "reversible_required": False,
}
ENVELOPED = a_proposal(a_document(MAIL, risk_envelope=ENVELOPE))


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        {},
        {"affected_records": None, "effects": None},
        {"affected_records": 0, "effects": []},
        {"affected_records": 2, "effects": ["email", "email"], "note": {"x": []}},
    ],
)
def test_what_the_envelope_allows_is_no_excess(receipt: dict[str, Any] | None) -> None:
    assert envelope_excess(ENVELOPED, receipt) is None


@pytest.mark.parametrize("effects", [["payment"], ["x"], [{}], [["x"]], [None], [1], "email", {}])
def test_any_other_effect_is_an_excess_whatever_it_is_made_of(effects: Any) -> None:
    assert envelope_excess(ENVELOPED, {"effects": effects}) == (
        "it reports effects that the envelope does not allow"
    )


def test_an_effect_is_forbidden_in_a_receipt_however_it_is_spelt_as_the_rule_has_it() -> None:
    envelope = ENVELOPE | {"allowed_side_effects": ["Payment"]}
    proposal = a_proposal(a_document(MAIL, risk_envelope=envelope))

    assert envelope_excess(proposal, {"effects": ["Payment"]}) is not None


@pytest.mark.parametrize(
    ("records", "words"),
    [(3, "3"), (-1, "-1"), (1.5, "1.5"), (True, "no number of"), ("9" * 999, "no number of")],
)
def test_more_fewer_than_none_and_no_number_of_records_are_an_excess(
    records: Any, words: str
) -> None:
    assert envelope_excess(ENVELOPED, {"affected_records": records}) == (
        f"it reports {words} affected records, allowed were at most 2"
    )


def test_without_an_envelope_nothing_is_promised() -> None:
    assert envelope_excess(a_proposal(MAIL), {"effects": [{}], "affected_records": -1}) is None
