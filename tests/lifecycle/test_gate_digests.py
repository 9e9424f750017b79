"""Where a digest may stand for a value, and what is refused of it."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.first_gate.digest_values import digest_faults
from lifecycle.policy import ActionType, ToolKind
from lifecycle.tier import Tier
from tests.builders import REFUND, a_document, a_tool, the_tools
from tests.lifecycle.at_the_gate import accepted, faults_of

S256 = "GF9h5eN-ZZ0a8zNObGC-YoGYB9nOLxvqaL7MaffMX1k"


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
    ("parameters", "path"),
    [
        ({"to_email": {"s256": S256}}, "to_email"),
        ({"cc_list": ["pat@partner.example", {"s256": S256}]}, "cc_list[1]"),
        ({"mailto": {"s256": S256}}, "mailto"),
        ({"bcc_email_address": {"s256": S256}}, "bcc_email_address"),
        ({"fields": [{"name": "Bcc", "value": {"s256": S256}}]}, "fields[0].value"),
        ({"people": [{"type": "cc", "email": {"s256": S256}}]}, "people[0].email"),
        ({"headers": {"X-Copy": {"s256": S256}}}, "headers.X-Copy"),
    ],
)
def test_what_the_rules_take_for_a_recipient_never_hides_behind_a_digest(
    parameters: dict[str, Any], path: str
) -> None:
    """People approved it unseen; the rules judged it only when it was presented."""
    parameters = REFUND["parameters"] | parameters
    assert faults_of(a_document(REFUND, parameters=parameters)) == [
        ("digest_not_allowed", f"parameters.{path}")
    ]


def test_a_digest_beside_a_recipient_may_stand_where_nobody_is_named() -> None:
    fields = {"fields": [{"name": "Subject", "value": {"s256": S256}}], "to": "pat@partner.example"}
    parameters = REFUND["parameters"] | fields
    assert accepted(REFUND, parameters=parameters).document.parameters == parameters


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
