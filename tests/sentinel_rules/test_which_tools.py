"""Which tools a rule is about: by what they do, by their kind, or since the settings name them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.policy import ActionType, ToolKind
from tests.builders import MAIL, PROD, a_document, the_tools
from tests.checking import found, sentinel_with

COMMUNICATE, WRITE = ActionType.COMMUNICATE, ActionType.WRITE


@pytest.mark.parametrize(
    ("said", "does", "kind", "is_asked"),
    [
        (COMMUNICATE, COMMUNICATE, ToolKind.WEBHOOK, True),
        (WRITE, COMMUNICATE, ToolKind.COMMAND, True),
        (COMMUNICATE, WRITE, ToolKind.COMMAND, True),
        (WRITE, WRITE, ToolKind.EMAIL, True),
        (WRITE, WRITE, ToolKind.WEBHOOK, False),
    ],
)
def test_whatever_sends_something_to_somebody_sends_it_to_allowed_recipients(
    said: ActionType, does: ActionType, kind: ToolKind, is_asked: bool
) -> None:
    tool = replace(the_tools()["send-email"], action_type=does, kind=kind)
    parameters = MAIL["parameters"] | {"to": "eve@elsewhere.example"}
    document = a_document(MAIL, action_type=said.value, parameters=parameters)

    codes = {code for rule, code, _ in found(document, tool=tool) if rule == "recipients_allowed"}

    assert codes == ({"domain_not_allowed"} if is_asked else set())


@pytest.mark.parametrize(
    ("name", "targets", "codes"),
    [
        ("ship", {"ship": ["shop.example"]}, {"target_not_allowed"}),
        ("ship", {"ship": ["prod.example"]}, set()),
        ("ship", {}, set()),
        ("ship-deploy", {}, {"target_not_allowed"}),
        ("ship-deploy", {"other-deploy": ["prod.example"]}, {"target_not_allowed"}),
    ],
)
def test_a_tool_deploys_where_it_may_if_the_settings_name_it_or_it_calls_itself_so(
    name: str, targets: dict[str, list[str]], codes: set[str]
) -> None:
    rule = "deploy_target_allowed"
    tool = replace(the_tools()["production-deploy"], name=name)
    document = a_document(PROD, target=PROD["target"] | {"domain": "prod.example"})
    asked = found(document, sentinel_with(rule, targets=targets), tool=tool)

    assert {code for each, code, _ in asked if each == rule} == codes
