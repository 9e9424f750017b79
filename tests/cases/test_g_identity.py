"""Kind G, the pure parts: who may decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.counting import approvals
from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from lifecycle.quorum import may_approve, may_stop
from lifecycle.review import Decision, Review
from tests.builders import ANA, LEILA, PROD, a_document, a_policy, a_proposal, the_agents, the_tools

TOOL = the_tools()["production-deploy"]
POLICY = a_policy()


def approved_by(*people: str) -> list[Review]:
    return [Review("p1", person, Decision.APPROVE, "", 0, "discord") for person in people]


def test_G01_the_one_who_asks_does_not_approve_and_another_does() -> None:
    refused = may_approve(POLICY, TOOL, ANA, "ana")
    assert refused is not None
    assert refused[0] == "own_proposal"
    assert may_approve(POLICY, TOOL, ANA, "ben") is None


def test_G01_the_owner_of_the_agent_does_not_approve_either() -> None:
    agents = the_agents()
    agents["leila"] = replace(agents["leila"], owner="ana")
    policy = a_policy(agents=agents)
    refused = may_approve(policy, TOOL, LEILA, "ana")
    assert refused is not None
    assert refused[0] == "owner_of_agent"
    assert may_approve(policy, TOOL, LEILA, "ben") is None
    assert may_stop(policy, TOOL, LEILA, "ana") is None
    assert may_approve(replace(policy, solo_operator=True), TOOL, LEILA, "ana") is None


def test_G02_an_agent_does_not_approve_its_own_proposal() -> None:
    refused = may_approve(POLICY, TOOL, LEILA, "leila")
    assert refused is not None
    assert refused[0] == "own_proposal"


def test_G02_an_approval_dressed_as_a_document_is_of_no_kind() -> None:
    with pytest.raises(Refused) as caught:
        accept({"approve": "p1", "approver": "1001"}, POLICY)
    assert caught.value.code == "unknown_kind"


def test_G03_who_is_no_reviewer_neither_approves_nor_stops() -> None:
    for refused in (
        may_approve(POLICY, TOOL, LEILA, "cal"),
        may_stop(POLICY, TOOL, LEILA, "cal"),
    ):
        assert refused is not None
        assert refused[0] == "not_a_reviewer"


@pytest.mark.parametrize(
    "people",
    [("ana", "cal"), ("cal", "nour"), ("ana", "signoff"), ("ana", "ana"), ("ana", "leila")],
)
def test_G10_two_names_are_not_two_reviewers(people: tuple[str, str]) -> None:
    accepted = accept(a_document(PROD, approval_class="dual"), POLICY)
    proposal = a_proposal(tool=TOOL.name)
    assert accepted.quorum == 2
    assert len(approvals(approved_by(*people), POLICY, proposal)) < accepted.quorum
    assert len(approvals(approved_by("ana", "ben"), POLICY, proposal)) == accepted.quorum
