"""Kind F, as far as gate, meaning and authority decide it."""

from __future__ import annotations

import pytest

from lifecycle.errors import Refused
from lifecycle.gate import accept
from lifecycle.policy import Policy
from lifecycle.tier import Tier
from tests.builders import PROD, a_document, a_policy


def codes_of(document: dict[str, object], policy: Policy | None = None) -> list[str]:
    with pytest.raises(Refused) as caught:
        accept(document, policy or a_policy(), "http://x")
    return [fault.code for fault in caught.value.faults]


@pytest.mark.parametrize("name", ["exfiltrate-data", ""])
def test_F01_a_tool_that_no_policy_knows_is_refused(name: str) -> None:
    assert codes_of(a_document(PROD, tool=name)) == ["unknown_tool"]


@pytest.mark.parametrize(
    "name",
    [
        "Production-Deploy",
        "production_deploy",
        "production-deploy ",
        "prod\u200buction-deploy",
        "PRODUCTION-DEPLOY",
        "productіon-deploy",
    ],
)
def test_F02_another_spelling_is_another_tool(name: str) -> None:
    with pytest.raises(Refused) as caught:
        accept(a_document(PROD, tool=name), a_policy(), "http://x")
    assert caught.value.code == "unknown_tool"
    assert "Did you mean production-deploy?" in str(caught.value)


def test_F03_a_proposal_does_not_choose_its_tier() -> None:
    assert codes_of(a_document(PROD, tier="AUTO")) == ["unknown_field"]


def test_F03_an_approval_class_of_none_takes_nothing_away() -> None:
    accepted = accept(a_document(PROD, approval_class="none"), a_policy(), "http://x")
    assert (accepted.tier, accepted.quorum) == (Tier.CONFIRM, 1)
    assert accepted.quorum_needs_people


def test_F07_no_tools_means_that_no_tool_may_be_used() -> None:
    assert codes_of(a_document(PROD), a_policy(tools={})) == ["unknown_tool"]
