"""Case E05 as the rule sees it: what one action comes to, in whatever shape its JSON says it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.builders import REFUND, a_document
from tests.checking import found, sentinel_with

RULE = "amount_within_limit"
LIMITS = {"USD": "10000.00", "JPY": "900000"}


def codes(parameters: dict[str, Any], constraints: dict[str, Any] | None = None) -> set[str]:
    target = REFUND["target"] | ({"constraints": constraints} if constraints else {})
    document = a_document(REFUND, target=target, parameters={"currency": "USD"} | parameters)
    rule = sentinel_with(RULE, per_action=LIMITS, per_agent_day=LIMITS | {"USD": "25000.00"})
    return {code for _, code, _ in found(document, rule)}


ONE, OTHER = {"amount": "9000.00"}, {"amount": "1000.01"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"payments": [ONE, OTHER]},
        {"payments": {"a": ONE, "b": OTHER}},
        {"payments": [ONE], "fees": [OTHER]},
        {"payments": [{"a": ONE}, {"b": OTHER}]},
        {"payments": {"a": {"x": ONE}, "b": [{"y": OTHER}]}},
        {"amount": "9000.00", "fee": OTHER},
        {"amount": "9000.00", "fee": {"amount_minor": 100_001}},
        {"amount1": "9000.00", "amount2": "9000.00"},
        {"amount": "9000.00", "Amount": "9000.00", "amount_minor": 900_000},
        {"amount_minor": 900_000, "amount_minor_2": 900_000},
        {"payment": {f"amount_{number}": "600.00" for number in range(17)}},
    ],
    ids=str,
)
def test_E05_no_shape_of_json_carries_more_than_one_action_may(parameters: dict[str, Any]) -> None:
    assert codes(parameters) == {"action_limit"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"amount": "9000.00", "items": [{"amount": "4000.00"}, {"amount": "5000.00"}]},
        {"amount": "9000.00", "amount_minor": 900_000, "total": "9000.00", "tax": "1500.00"},
        {"payments": {"a": {"amount": "9000.00"}, "b": {"amount": "900000", "currency": "JPY"}}},
    ],
    ids=str,
)
def test_E05_what_is_told_twice_is_one_amount(parameters: dict[str, Any]) -> None:
    assert codes(parameters) == set()


def test_E05_constraints_that_repeat_an_amount_add_nothing_and_others_do() -> None:
    parameters = {"amount": "9000.00"}

    assert codes(parameters, {"amount": "9000.00", "currency": "USD"}) == set()
    assert codes(parameters, {"amount": "1000.01", "currency": "USD"}) == {"action_limit"}


def test_E05_a_sum_that_one_amount_explains_is_told_once() -> None:
    parameters = {"currency": "USD", "a": {"amount": "10000.01"}, "b": {"amount": "9000.00"}}

    assert found(a_document(REFUND, parameters=parameters)) == {
        (RULE, "action_limit", "parameters.a.amount")
    }


def test_E06_the_limit_of_the_day_names_an_amount_of_its_currency() -> None:
    rule = sentinel_with(RULE, per_action=LIMITS, per_agent_day=LIMITS)
    yen, dollars = {"amount": "500", "currency": "JPY"}, {"amount": "120.00", "currency": "USD"}
    document = a_document(REFUND, parameters={"a": yen, "b": dollars})
    almost = {"USD": Decimal("9880.00"), "JPY": Decimal(899_500)}

    assert found(document, rule, spent=almost) == set()
    for currency, place in (("JPY", "a"), ("USD", "b")):
        spent = almost | {currency: almost[currency] + 1}
        path = f"parameters.{place}.amount"
        assert found(document, rule, spent=spent) == {(RULE, "daily_limit", path)}


@pytest.mark.parametrize(
    "entry",
    [
        {"amount_cents": 90_000_000},
        {"amountUsd": 900_000},
        {"amount_note": "in full", "n": 900_000},
        {"amount_note": "in full", "price": 900_000},
    ],
    ids=str,
)
def test_E05_a_name_that_only_begins_as_an_amount_vouches_for_no_number(
    entry: dict[str, Any],
) -> None:
    assert codes(ONE | {"amounts": [entry]}) == {"amount_missing"}
    if "price" in entry:
        assert codes(ONE | {"items": [entry]}) == {"amount_missing"}


@pytest.mark.parametrize("name", ["amount_minor", "amountMinor", "amountminor", "AMOUNT-MINOR"])
def test_E05_an_amount_vouches_for_the_numbers_beside_it_however_it_is_spelt(name: str) -> None:
    entry = {name: 1_000, "row": 7, "price": 10}

    assert codes({"amounts": [entry]}) == codes({"items": [entry]}) == set()
