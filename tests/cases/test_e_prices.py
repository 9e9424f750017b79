"""Case E02: which numbers in a list of items are prices, at any depth, and which only count."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.text.bare_numbers import bare_numbers
from tests.builders import MAIL, REFUND, a_document
from tests.checking import found

MISSING = {"amount_missing"}


def mailed(item: Any, **around: Any) -> set[str]:
    """Return what is found if a tool that moves no money gets this item."""
    parameters = {"to": "pat@partner.example", "order": {"items": [item]} | around}
    return {code for _, code, _ in found(a_document(MAIL, parameters=parameters))}


def paid(item: Any) -> set[str]:
    """Return what is found if a tool that pays gets this item beside an amount."""
    parameters = {"amount": "1.00", "currency": "USD", "items": [item]}
    return {code for _, code, _ in found(a_document(REFUND, parameters=parameters))}


@pytest.mark.parametrize(
    "item",
    [
        *({"priceUSD": 20000}, {"cost_eur": "20000"}, {"total_usd": 20000}, {"price_in_usd": 9}),
        *({"unitprice": 20000}, {"UNITPRICES": [20000, 1]}, {"totalamount": "20000.00"}),
        *({"price": {"value": 20000}}, {"product": {"price": {"usd": 20000, "eur": 1}}}),
        *({"amount_due": 20000}, {"refunds_usd": 300}, {"of": {"amounts": 20000}}),
        {"of": {"items": {"price": 20000}}},
    ],
)
def test_E02_a_price_is_one_however_its_currency_and_its_name_are_written(item: Any) -> None:
    assert mailed(item) == MISSING
    assert paid(item) == MISSING


@pytest.mark.parametrize(
    "price",
    ["20000 USD", "usd 20,000.00", "20k", "EUR20000", "2M", f"{' ' * 80}20000 USD{' ' * 80}"],
)
def test_E02_a_price_in_words_is_money_to_a_tool_that_pays(price: str) -> None:
    assert paid({"price": price}) == MISSING
    assert paid({"product": {"total_amount": price}}) == MISSING
    assert mailed({"price": price}, currency="USD") == set()


@pytest.mark.parametrize(
    "item",
    [{"refunds": 3, "month": "Jan"}, {"stats": {"payments": 120}}, {"station": {"charges": [2]}}],
)
def test_how_many_there_were_is_money_where_a_tool_pays_or_money_stands_around(item: Any) -> None:
    assert mailed(item) == set()
    assert mailed(item, currency="USD") == MISSING
    assert paid(item) == MISSING


def test_how_many_there_were_in_words_is_money_to_a_tool_that_pays_alone() -> None:
    assert paid({"refunds": "20 USD"}) == MISSING
    assert mailed({"refunds": "20 USD"}, currency="USD") == set()


@pytest.mark.parametrize(
    "item",
    [
        *({"amount_kg": 2.5}, {"parts": [{"amount_ml": 200}]}, {"discount_amount_pct": 10}),
        *({"payment": "visa 4242"}, {"charge": "ch_17"}, {"price": "see invoice 17"}),
        *({"price": "on request"}, {"price_id": 17}, {"cost_center": 4711}, {"payment_days": 30}),
        *({"refunds": {"total": 3}}, {"of": {"-": 5}}),
        {"of": {"amount": "1.00", "currency": "USD", "price": 5}},
    ],
)
def test_a_measure_a_name_and_what_says_its_amount_are_no_price_in_any_tool(item: Any) -> None:
    assert mailed(item) == set()
    assert paid(item) == set()


def test_a_list_that_is_read_by_itself_is_not_read_with_each_one_around_it() -> None:
    inside = {"items": [{"price": 7}]}

    assert list(bare_numbers([inside], ())) == []
    assert mailed({"of": inside}) == MISSING
