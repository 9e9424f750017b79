"""Cases A06, A07 and E01 to E07 as the rule sees them: one spelling a value, exact sums."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lifecycle.policy import Level, RuleSettings
from lifecycle.records import Money
from lifecycle.text.amounts import amounts_of
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import MAIL, REFUND, a_document, the_rules
from tests.checking import found, sentinel_with

RULE = "amount_within_limit"


def refund(**parameters: Any) -> dict[str, Any]:
    return a_document(REFUND, parameters=parameters)


def codes(*, spent: str = "0", **parameters: Any) -> set[str]:
    document = refund(**parameters)
    everything = found(document, spent={"USD": Decimal(spent)})
    assert {rule for rule, _, _ in everything} <= {RULE}
    return {code for _, code, _ in everything}


@pytest.mark.parametrize(
    "amount",
    [
        *("1.000,50", "3.350", "10,000", "1 000.00", "€55.555"),  # E01
        *("1_0000", " 9999 ", "1e5", "+50", "0x10", "９９９９", "٩٩", "00050.00"),  # E07
        *("NaN", "inf", "-inf", "Infinity", ""),  # A06
        *("5.0", "5.", ".50", "0x", "1'000.00", "120.00 USD", "120.00\n", "--5.00", "1" * 30),
        *(True, False, 120, 120.5, ["120.00"], {"value": "120.00"}),  # A07
    ],
)
def test_E01_E07_A06_A07_any_other_spelling_is_ambiguous(amount: Any) -> None:
    assert codes(amount=amount, currency="USD") == {"ambiguous_amount"}


@pytest.mark.parametrize("amount", ["-50000.00", "-0.00", "0.00", "0"])
def test_E02_an_amount_is_positive(amount: str) -> None:
    assert codes(amount=amount, currency="USD") == {"amount_not_positive"}


@pytest.mark.parametrize("minor", [0, -1, -5_000_000])
def test_E02_an_amount_in_cents_is_positive(minor: int) -> None:
    assert codes(amount_minor=minor, currency="USD") == {"amount_not_positive"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"items": [20000.0, -15000.0]},
        {"items": ["20000.00", "-15000.00"]},
        {"amounts": [[20000]]},
        {"order": {"items": [{"price": 20000.0}]}},
        {"order": "17"},
        {"amount": None},
        {},
    ],
)
def test_E02_an_amount_that_is_not_called_one_is_missing(parameters: dict[str, Any]) -> None:
    assert codes(currency="USD", **parameters) == {"amount_missing"}


@pytest.mark.parametrize(
    "amounts",
    [
        [{"v": 7}],
        [{"amount": "1.00"}, {"of": "pat", "n": "20000"}],
        [{"part": {"n": 5}}],
        [{"parts": [5]}],
        [[{"parts": [{"n": 5}]}]],
        ["20000 USD"],
        [["USD 20000.00"]],
        ["20k"],
    ],
)
def test_E02_any_number_in_a_list_of_amounts_is_one_that_is_not_called_so(amounts: Any) -> None:
    assert codes(amount="1.00", currency="USD", amounts=amounts) == {"amount_missing"}
    mail = {"to": "pat@partner.example", "amounts": amounts}
    if "amount" not in str(amounts):
        assert found(a_document(MAIL, parameters=mail)) == set()


def test_an_object_in_a_list_of_amounts_that_has_one_may_hold_other_numbers() -> None:
    amounts = [{"amount": "1.00", "order": 4711, "tax": {"percent": 19}}]
    assert codes(currency="USD", amounts=amounts) == set()


def test_a_text_without_a_number_among_amounts_is_none() -> None:
    amounts = ["all of it", {"of": "order-17", "see": ["A-17"]}]
    assert codes(amount="1.00", currency="USD", amounts=amounts) == set()


def test_E02_bare_numbers_are_missing_beside_an_amount_too() -> None:
    assert codes(amount="1.00", currency="USD", items=[20000.0]) == {"amount_missing"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"items": [17, "4711"]},
        {"items": [{"name": "timeout", "value": 30}, {"sku": "A", "total": 3}]},
        {"items": [[2026]]},
    ],
)
def test_numbers_are_money_where_a_tool_pays_or_money_stands_around(
    parameters: dict[str, Any],
) -> None:
    mail = {"to": "pat@partner.example"}
    missing = {"amount_missing"}

    assert found(a_document(MAIL, parameters=mail | parameters)) == set()
    for around in ({"currency": "USD"}, {"currency": "usd"}, {"total_amount": None}):
        document = a_document(MAIL, parameters=mail | {"order": around | parameters})
        assert {code for _, code, _ in found(document)} == missing
    assert codes(**parameters) == missing
    assert codes(amount="1.00", currency="USD", **parameters) == missing


@pytest.mark.parametrize(
    "parameters",
    [
        {"items": [{"price": 20000}]},
        {"items": [{"unit_cost": "20000"}]},
        {"items": [{"total_amount": "20000.00"}]},
        {"items": [{"amountUSD": 20000}]},
        {"items": [{"price_cents": 2000000}]},
        {"items": [{"prices": [20000, 1]}]},
        {"items": [{"product": {"price": 20000}}]},
        {"amounts": [20000]},
        {"items": [5, {"fee": {"currency": "USD"}}]},
    ],
)
def test_a_price_is_money_in_every_tool(parameters: dict[str, Any]) -> None:
    document = a_document(MAIL, parameters={"to": "pat@partner.example"} | parameters)

    assert {code for _, code, _ in found(document)} == {"amount_missing"}


def test_E02_a_negative_item_hides_nothing() -> None:
    items = [{"amount": "20000.00"}, {"amount": "-15000.00"}]

    assert codes(currency="USD", items=items) == {"action_limit", "amount_not_positive"}


@pytest.mark.parametrize(
    "currency", [None, "", "usd", "US", "USD\n", "ＵＳＤ", "EUR", 840, ["USD"]]
)
def test_a_currency_without_a_limit_has_nothing_to_be_within(currency: Any) -> None:
    assert codes(amount="1.00", currency=currency) == {"no_limit_for_currency"}


def test_the_nearest_currency_counts() -> None:
    assert codes(currency="USD", order={"parts": [{"amount": "5.00"}]}) == set()
    assert codes(currency="USD", order={"currency": "EUR", "parts": [{"amount": "5.00"}]}) == {
        "no_limit_for_currency"
    }


@pytest.mark.parametrize(
    ("parameters", "is_above"),
    [
        ({"amount": "10000.00"}, False),
        ({"amount": "10000"}, False),
        ({"amount_minor": 1_000_000}, False),
        ({"amount": "10000.01"}, True),
        ({"amount_minor": 1_000_001}, True),
        ({"AMOUNT": "10000.01"}, True),
        ({"amountMinor": 1_000_001}, True),
        ({"аmount": "10000.01"}, True),
        ({"aMOUNT": "10000.01"}, True),
        ({"aMOUNTmINOR": 1_000_001}, True),
        ({"amount_mІnor": 1_000_001}, True),
    ],
)
def test_E04_the_limit_itself_is_within(parameters: dict[str, Any], is_above: bool) -> None:
    assert codes(currency="USD", **parameters) == ({"action_limit"} if is_above else set())


@pytest.mark.parametrize("other", ["Currency", "cURRENCY", "сurrency"])
def test_two_currencies_in_one_object_make_its_amounts_ambiguous(other: str) -> None:
    assert codes(amount="9.00", currency="USD", **{other: "KWD"}) == {"ambiguous_amount"}
    assert codes(currency="USD", **{other: "KWD"}, a=[{"amount": "9.00"}]) == {"ambiguous_amount"}
    assert codes(amount="9.00", currency="USD", **{other: "USD"}) == set()
    assert codes(amount="9.00", **{other: "USD"}) == set()


def test_E04_two_spellings_in_one_object_must_agree() -> None:
    assert codes(currency="USD", amount="10.00", amount_minor=1000) == set()
    assert codes(currency="USD", amount="10.00", amount_minor=1001) == {"ambiguous_amount"}


@pytest.mark.parametrize(
    ("amounts", "limit", "is_above"),
    [
        (["3333.33", "3333.33", "3333.34"], "10000.00", False),
        (["3333.33", "3333.33", "3333.35"], "10000.00", True),
        (["0.10", "0.20"], "0.30", False),
        (["0.10", "0.21"], "0.30", True),
    ],
)
def test_E05_sums_are_exact(amounts: list[str], limit: str, is_above: bool) -> None:
    rule = sentinel_with(RULE, per_action={"USD": limit}, per_agent_day={"USD": "25000.00"})
    document = refund(currency="USD", items=[{"amount": amount} for amount in amounts])

    expected = {(RULE, "action_limit", "parameters.items")} if is_above else set()
    assert found(document, rule) == expected


def test_a_list_inside_a_list_counts_for_both() -> None:
    orders = [{"items": [{"amount": "6000.00"}]}, {"items": [{"amount": "6000.00"}]}]

    assert found(refund(currency="USD", orders=orders)) == {
        (RULE, "action_limit", "parameters.orders")
    }


@pytest.mark.parametrize(
    ("spent", "expected"), [("24880.00", set()), ("24880.01", {"daily_limit"})]
)
def test_E06_a_day_has_a_limit_for_each_agent(spent: str, expected: set[str]) -> None:
    assert codes(amount="120.00", currency="USD", spent=spent) == expected


def test_E06_all_amounts_of_a_proposal_count_for_the_day() -> None:
    parameters = {"currency": "USD", "a": {"amount": "4000.00"}, "b": {"amount": "6000.00"}}

    assert codes(**parameters, spent="15000.00") == set()
    assert codes(**parameters, spent="15000.01") == {"daily_limit"}


def test_E06_a_total_and_its_list_count_once() -> None:
    parameters = {
        "currency": "USD",
        "amount": "100.00",
        "items": [{"amount": "60.00"}, {"amount": "40.00"}],
    }

    assert amounts_of(parameters) == (Money("USD", Decimal("100.00")),)


@pytest.mark.parametrize(
    ("currency", "good", "bad"),
    [
        ("JPY", "500", "500.00"),
        ("JPY", "1", "500."),
        ("KWD", "1.234", "1.23"),
        ("CLF", "1.2345", "1.23"),
    ],
)
def test_every_currency_has_its_own_decimals(currency: str, good: str, bad: str) -> None:
    limits = {currency: "1000"}
    rule = sentinel_with(RULE, per_action=limits, per_agent_day=limits)

    assert found(refund(amount=good, currency=currency), rule) == set()
    assert found(refund(amount=bad, currency=currency), rule) == {
        (RULE, "ambiguous_amount", "parameters.amount")
    }


def test_money_in_any_tool_counts() -> None:
    document = a_document(MAIL, parameters={"to": "pat@partner.example", "offer": {"amount": 5}})

    assert found(document) == {(RULE, "ambiguous_amount", "parameters.offer.amount")}


@pytest.mark.parametrize("limits", [{}, {"EUR": "5.00"}])
def test_F07_no_limit_lets_no_money_through(limits: dict[str, str]) -> None:
    rule = sentinel_with(RULE, per_action=limits, per_agent_day=limits)

    assert found(REFUND, rule) == {(RULE, "no_limit_for_currency", "parameters.amount")}


@pytest.mark.parametrize(
    "limits",
    [
        *({"usd": "1.00"}, {"USD": "1.000,00"}, {"USD": 1.5}, {"JPY": "1.00"}, {"USD": "-1.00"}),
        {"USD": "1.00"},
    ],
)
def test_a_limit_that_is_no_amount_stops_the_start(limits: dict[str, Any]) -> None:
    settings = RuleSettings(Level.HARD, {"per_action": limits})

    with pytest.raises(RuleLoadError, match=RULE):
        load_rules(the_rules() | {RULE: settings})
