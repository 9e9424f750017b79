"""Kind F, as far as gate, meaning and authority decide it; and a tool that nobody knows."""

from __future__ import annotations

import pytest

from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from lifecycle.policy import Policy
from lifecycle.tier import Tier
from tests.builders import PROD, a_document, a_policy
from tests.world import World


def codes_of(document: dict[str, object], policy: Policy | None = None) -> list[str]:
    with pytest.raises(Refused) as caught:
        accept(document, policy or a_policy())
    return [fault.code for fault in caught.value.faults]


@pytest.mark.parametrize("name", ["exfiltrate-data", ""])
def test_F01_a_tool_that_no_policy_knows_is_refused(name: str) -> None:
    assert codes_of(a_document(PROD, tool=name)) == ["unknown_tool"]


@pytest.mark.parametrize("name", ["exfiltrate-data", ""])
async def test_F01_nothing_is_called_or_kept_of_it_but_its_row_of_the_trail(
    world: World, name: str
) -> None:
    answer = await world.submits(PROD, proposal_id="p1", tool=name)
    await world.passes(minutes=20)
    reply = await world.approves("ana", "p1")

    assert (answer.state, answer.reason, answer.outcome) == (None, "unknown_tool", "deny")
    assert [fault.code for fault in answer.errors] == ["unknown_tool"]
    assert reply.code == "unknown_proposal"
    assert all(not tool.calls for tool in world.toolbox.tools.values())
    (row,) = await world.audit("refused")
    assert (row["reason"], row["surface"]) == ("unknown_tool", "terminal")
    assert row["actor"] == {"kind": "agent", "id": "leila"}
    assert await world.trail("p1") == []


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
        accept(a_document(PROD, tool=name), a_policy())
    assert caught.value.code == "unknown_tool"
    assert "Did you mean production-deploy?" in str(caught.value)


def test_F03_a_proposal_does_not_choose_its_tier() -> None:
    assert codes_of(a_document(PROD, tier="AUTO")) == ["unknown_field"]


def test_F03_an_approval_class_of_none_takes_nothing_away() -> None:
    accepted = accept(a_document(PROD, approval_class="none"), a_policy())
    assert (accepted.tier, accepted.quorum) == (Tier.CONFIRM, 1)
    assert accepted.quorum_needs_people


def test_F07_no_tools_means_that_no_tool_may_be_used() -> None:
    assert codes_of(a_document(PROD), a_policy(tools={})) == ["unknown_tool"]
