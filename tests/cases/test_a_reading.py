"""Kind A, as far as reading the bytes decides it."""

from __future__ import annotations

import json

import pytest

from lifecycle.errors import Refused
from lifecycle.reading import read_object


def refusal_of(text: str) -> Refused:
    with pytest.raises(Refused) as caught:
        read_object(text.encode())
    return caught.value


def refund(parameters: str) -> str:
    return (
        '{"proposal_id":"p1","actor":"leila","tool":"issue-refund","action_type":"transact",'
        '"target":{"resource_type":"payment","resource_id":"r1","domain":"shop","constraints":{}},'
        f'"parameters":{parameters}}}'
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [('“{"proposal_id":"p1"}”', 1), ("{“proposal_id”:“p1”}", 2)],
    ids=["around the object", "inside the object"],
)
def test_A03_curly_quotes_are_malformed_at_the_first_of_them(text: str, column: int) -> None:
    refusal = refusal_of(text)
    assert refusal.code == "malformed_json"
    assert refusal.faults[0].actual == f"line 1, column {column}"
    assert "straight" in str(refusal)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            refund('{"amount":"50.00","currency":"USD","amount":"50000.00"}'),
            "parameters.amount",
        ),
        ('{"proposal_id":"p1","actor":"leila","proposal_id":"p2"}', "proposal_id"),
        (refund('{"a":{"b":[{"c":1,"c":2}]}}'), "parameters.a.b[0].c"),
    ],
    ids=["amount", "top level", "three levels down"],
)
def test_A05_a_repeated_key_is_refused_with_its_path(text: str, path: str) -> None:
    (fault,) = refusal_of(text).faults
    assert (fault.code, fault.path) == ("duplicate_key", path)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_A06_a_bare_value_that_is_not_finite_is_refused(literal: str) -> None:
    (fault,) = refusal_of(refund(f'{{"amount":{literal},"currency":"USD"}}')).faults
    assert (fault.code, fault.path) == ("non_finite_number", "parameters.amount")


def test_A06_records_that_are_not_a_number_are_refused() -> None:
    (fault,) = refusal_of('{"risk_envelope":{"max_affected_records":NaN}}').faults
    assert (fault.code, fault.path) == (
        "non_finite_number",
        "risk_envelope.max_affected_records",
    )


@pytest.mark.parametrize("text", ["NaN", "inf"])
def test_A06_the_words_as_strings_are_left_to_the_rules(text: str) -> None:
    raw = refund(json.dumps({"amount": text, "currency": "USD"}))
    assert read_object(raw.encode())["parameters"]["amount"] == text


@pytest.mark.parametrize("levels", [2_000, 100_000])
def test_A09_very_deep_nesting_is_refused_and_the_next_document_is_read(levels: int) -> None:
    assert refusal_of(refund("[" * levels + "]" * levels)).code == "too_deep"
    assert read_object(refund('{"amount":"120.00","currency":"USD"}').encode())


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            '{"risk_envelope":{"max_affected_records":9223372036854775808}}',
            "risk_envelope.max_affected_records",
        ),
        ('{"ts_ms":1' + "0" * 30 + "}", "ts_ms"),
        ('{"ts_ms":1e30}', "ts_ms"),
        ('{"parameters":{"n":' + "9" * 5_000 + "}}", "parameters.n"),
    ],
    ids=["64 bits", "10^30", "1e30", "5000 digits"],
)
def test_A11_an_integer_too_wide_to_keep_is_out_of_range(text: str, path: str) -> None:
    (fault,) = refusal_of(text).faults
    assert (fault.code, fault.path) == ("out_of_range", path)
