"""The gate only tightens: tier, quorum and window are never less than the policy says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.first_gate.gate import accept
from lifecycle.policy import ActionType, ApprovalClass
from lifecycle.tier import Tier
from lifecycle.windows import window_of
from tests.builders import PROD, REFUND, a_document, a_policy, a_tool, the_tools
from tests.lifecycle.at_the_gate import accepted, probe, with_tool


@pytest.mark.parametrize(
    ("tier", "asked", "effective", "quorum", "people"),
    [
        (Tier.AUTO, None, Tier.AUTO, 0, False),
        (Tier.AUTO, "none", Tier.AUTO, 0, False),
        (Tier.AUTO, "single", Tier.CONFIRM, 1, True),
        (Tier.AUTO_PLUS, "dual", Tier.CONFIRM, 2, True),
        (Tier.PROPOSE, None, Tier.PROPOSE, 1, False),
        (Tier.PROPOSE, "single", Tier.PROPOSE, 1, True),
        (Tier.PROPOSE, "dual", Tier.PROPOSE, 2, True),
        (Tier.CONFIRM, None, Tier.CONFIRM, 1, True),
        (Tier.CONFIRM, "none", Tier.CONFIRM, 1, True),
        (Tier.CONFIRM, "dual", Tier.CONFIRM, 2, True),
        (Tier.BLOCK, "dual", Tier.BLOCK, 0, True),
    ],
)
def test_a_proposal_may_only_tighten(
    tier: Tier, asked: str | None, effective: Tier, quorum: int, people: bool
) -> None:
    policy = with_tool()
    policy = replace(
        policy, tools=policy.tools | {"probe": replace(policy.tools["probe"], tier=tier)}
    )
    result = accept(probe(approval_class=asked), policy)
    assert (result.tier, result.quorum) == (effective, quorum)
    assert result.quorum_needs_people is people


@pytest.mark.parametrize(
    ("quorum_class", "required", "asked", "quorum"),
    [
        (ApprovalClass.DUAL, 0, "single", 2),
        (ApprovalClass.SINGLE, 0, "dual", 2),
        (ApprovalClass.THRESHOLD, 3, "none", 3),
        (ApprovalClass.THRESHOLD, 3, "threshold", 3),
        (ApprovalClass.THRESHOLD, 1, "dual", 2),
        (ApprovalClass.THRESHOLD, 1, "none", 1),
    ],
)
def test_the_quorum_is_the_highest_of_tier_tool_and_proposal(
    quorum_class: ApprovalClass, required: int, asked: str, quorum: int
) -> None:
    policy = with_tool(quorum_class=quorum_class, quorum_required=required)
    result = accept(probe(approval_class=asked), policy)
    assert (result.tier, result.quorum) == (Tier.CONFIRM, quorum)


def test_what_is_always_blocked_is_blocked_whatever_the_config_says() -> None:
    lax = a_tool("financial-transfer", Tier.AUTO, ActionType.TRANSACT)
    policy = a_policy(tools={"financial-transfer": lax})
    result = accept(a_document(REFUND, tool="financial-transfer"), policy)
    assert (result.tier, result.tool.tier) == (Tier.BLOCK, Tier.BLOCK)


@pytest.mark.parametrize(
    ("asked", "window_s"),
    [
        (None, 900),
        ({"kind": "deferred"}, 900),
        ({"kind": "deferred", "window_s": 60}, 900),
        ({"kind": "deferred", "window_s": 1800}, 1800),
        ({"kind": "none"}, 900),
        ({"kind": "none", "window_s": 1800}, 900),
        ({"kind": "deferred", "window_s": -5}, 900),
    ],
)
def test_a_window_is_only_ever_lengthened(asked: dict[str, Any] | None, window_s: int) -> None:
    assert accepted(rollback_semantics=asked).window_s == window_s


def test_a_window_that_does_not_exist_is_not_lengthened() -> None:
    result = accepted(PROD, rollback_semantics={"kind": "none", "window_s": 1800})
    assert result.window_s == 0


def test_raising_a_tier_never_shortens_a_window() -> None:
    mail = the_tools()["send-email"]
    assert window_of(mail, Tier.CONFIRM) == window_of(mail, Tier.PROPOSE) == 900
    bare = replace(mail, window_s=None)
    assert window_of(bare, Tier.CONFIRM) == 900


def test_a_confirmed_tool_has_a_window_only_where_its_config_sets_one() -> None:
    deploy = the_tools()["production-deploy"]
    assert window_of(deploy, Tier.CONFIRM) == 0
    assert window_of(replace(deploy, window_s=120, reversible=True), Tier.CONFIRM) == 120
    assert window_of(replace(deploy, tier=Tier.AUTO, window_s=120), Tier.AUTO) == 0
