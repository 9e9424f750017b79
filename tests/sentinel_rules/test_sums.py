"""A sum of money is judged by its own currency, however it is spread and whatever stands beside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import REFUND, a_document
from tests.checking import sentinel_with, verdict_on

RULE = "amount_within_limit"
LIMITS = {"USD": "10000.00", "JPY": "5000000"}


def codes(**parameters: Any) -> set[str]:
    """Return what the rule finds, over the limits of two currencies."""
    sentinel = sentinel_with(RULE, per_action=LIMITS, per_agent_day=LIMITS)
    verdict = verdict_on(a_document(REFUND, parameters=parameters), sentinel)
    return {
        finding.code
        for result in verdict.results
        if result.rule == RULE
        for finding in result.findings
        if finding.code != "daily_limit"
    }


def paid(amount: str, currency: str = "USD") -> dict[str, str]:
    return {"amount": amount, "currency": currency}


@pytest.mark.parametrize(
    ("pay", "is_above"),
    [
        ({"a": paid("9000.00"), "b": paid("1000.00"), "c": paid("4000000", "JPY")}, False),
        ({"a": paid("9000.00"), "b": paid("1000.01"), "c": paid("4000000", "JPY")}, True),
        ({"a": paid("9000.00"), "b": paid("1000.01"), "c": [paid("4000000", "JPY")]}, True),
        ({"a": [paid("9000.00")], "b": [paid("1000.01"), paid("4000000", "JPY")]}, True),
        ({"a": paid("10000.00"), "b": paid("0.01")}, True),
        ({"a": [paid("10000.00")], "b": [paid("0.01")]}, True),
        ({"a": paid("3000000", "JPY"), "b": paid("2000001", "JPY"), "c": paid("1.00")}, True),
    ],
)
def test_what_several_payments_come_to_is_judged_whatever_else_is_paid(
    pay: dict[str, Any], is_above: bool
) -> None:
    assert codes(pay=pay) == ({"action_limit"} if is_above else set())
