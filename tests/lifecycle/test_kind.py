"""Which kind a document is: never guessed; what a KernelRequest means by seed 000's table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.authority import decide
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.kind import Kind, kind_of, of_kernel_request
from lifecycle.policy import ActionType, Agent
from lifecycle.tier import Tier
from tests.builders import MAIL, NOW_MS, a_document, a_policy, a_tool, the_tools


def crm_policy() -> Any:
    crm = a_tool(
        "crm",
        Tier.CONFIRM,
        ActionType.WRITE,
        match={"resource_type": "crm_record", "domain": "salesforce.com"},
    )
    return a_policy(tools=the_tools() | {"crm": crm})


def a_kernel_request(**changes: Any) -> dict[str, Any]:
    return {
        "request_id": "r1",
        "ts_ms": NOW_MS,
        "actor": "leila",
        "intent": "Correct the phone number",
        "tool_call": {"name": "crm"},
        "params": {"resource_id": "contact-1", "phone": "1"},
    } | changes


def refusal_of(obj: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        accept(obj, crm_policy())
    return caught.value


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        ({"proposal_id": "p"}, Kind.PROPOSAL),
        ({"action_type": "read"}, Kind.PROPOSAL),
        ({"target": {}}, Kind.PROPOSAL),
        ({"request_id": "r"}, Kind.KERNEL_REQUEST),
        ({"proposal": {}}, Kind.ENVELOPE),
        ({"llmProposal": {}}, Kind.ENVELOPE),
        ({"proposal": {}, "llmProposal": {}}, Kind.ENVELOPE),
    ],
)
def test_a_document_is_of_the_kind_whose_sign_it_bears(obj: dict[str, Any], kind: Kind) -> None:
    assert kind_of(obj) is kind


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"a": "b c"},
        {"approve": "p1", "approver": "1001"},
        {"proposal_id": "p", "request_id": "r"},
        {"proposal_id": "p", "proposal": {}},
        {"request_id": "r", "llmProposal": {}},
    ],
)
def test_signs_of_no_kind_or_of_several_are_refused(obj: dict[str, Any]) -> None:
    with pytest.raises(Refused) as caught:
        kind_of(obj)
    assert caught.value.code == "unknown_kind"


def test_an_envelope_that_nobody_opened_is_no_proposal_whatever_stands_beside_its_plan() -> None:
    envelope = a_document(MAIL, proposal={})
    del envelope["proposal_id"]
    with pytest.raises(Refused) as caught:
        accept(envelope, a_policy())
    assert {fault.code for fault in caught.value.faults} == {"V-PROP-001", "unknown_field"}


def test_a_kernel_request_means_the_proposal_of_the_table() -> None:
    accepted = accept(a_kernel_request(evidence="ev-1"), crm_policy())
    document = accepted.document
    assert accepted.kind is Kind.KERNEL_REQUEST
    assert (document.proposal_id, document.tool, document.actor) == ("r1", "crm", "leila")
    assert document.action_type is ActionType.WRITE
    assert document.target.model_dump() == {
        "resource_type": "crm_record",
        "resource_id": "contact-1",
        "domain": "salesforce.com",
        "constraints": {},
    }
    assert document.parameters == {"resource_id": "contact-1", "phone": "1"}
    assert document.intent == "Correct the phone number"
    assert [b.evidence_id for b in document.evidence_bindings] == ["ev-1"]
    assert document.evidence_bindings[0].required


def test_the_older_form_with_parameters_inside_the_call_means_the_same() -> None:
    inside = a_kernel_request(tool_call={"name": "crm", "params": {"resource_id": "contact-1"}})
    del inside["params"]
    outside = a_kernel_request(params={"resource_id": "contact-1"})
    policy = crm_policy()
    assert accept(inside, policy).digest == accept(outside, policy).digest


def test_the_same_parameters_in_both_places_are_one_set() -> None:
    once = a_kernel_request()
    twice = a_kernel_request(tool_call={"name": "crm", "params": dict(once["params"])})
    policy = crm_policy()
    assert accept(twice, policy).digest == accept(once, policy).digest
    lacking = a_kernel_request(
        tool_call={"name": "crm", "params": {"phone": "1"}}, params={"phone": "1"}
    )
    assert "write params.resource_id, or" in (refusal_of(lacking).faults[0].suggestion or "")


def test_two_different_sets_of_parameters_are_refused() -> None:
    refusal = refusal_of(a_kernel_request(tool_call={"name": "crm", "params": {"other": 1}}))
    assert (refusal.code, refusal.faults[0].path) == ("V-PROP-006", "params")


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"tool_call": None}, "V-PROP-005", "tool_call"),
        ({"tool_call": {"name": "Crm"}}, "unknown_tool", "tool_call.name"),
        ({"tool_call": {"name": 7}}, "wrong_type", "tool_call.name"),
        ({"params": {"phone": "1"}}, "V-PROP-005", "target.resource_id"),
        ({"params": {"resource_id": 7}}, "V-PROP-005", "target.resource_id"),
        ({"params": []}, "V-PROP-005", "target.resource_id"),
        ({"request_id": ""}, "V-PROP-001", "request_id"),
        ({"ts_ms": "now"}, "V-PROP-002", "ts_ms"),
        ({"approval_class": "dual"}, "unknown_field", "approval_class"),
        ({"evidence": "two words"}, "invalid_identifier", "evidence"),
        ({"evidence": {"evidence_id": "ev-1"}}, "wrong_type", "evidence.binding_type"),
        ({"evidence": ["ev-1", {"evidence_id": 1}]}, "wrong_type", "evidence[1].evidence_id"),
        ({"tool_call": {"name": "send-email"}}, "V-PROP-005", "target.domain"),
    ],
)
def test_what_a_kernel_request_lacks_is_named_where_it_was_written(
    changes: dict[str, Any], code: str, path: str
) -> None:
    refusal = refusal_of(a_kernel_request(**changes))
    assert (refusal.code, refusal.faults[0].path) == (code, path)


@pytest.mark.parametrize(
    ("inner", "outer", "told"),
    [
        ({"phone": 1}, {}, ("invalid_parameter", "tool_call.params.phone")),
        ({"phone": 1}, {"params": None}, ("invalid_parameter", "tool_call.params.phone")),
        ({"phone": 1}, {"params": {}}, ("invalid_parameter", "tool_call.params.phone")),
        ([], {}, ("V-PROP-006", "tool_call.params")),
    ],
)
def test_parameters_inside_the_call_are_named_there(
    inner: Any, outer: dict[str, Any], told: tuple[str, str]
) -> None:
    """They were named under params, which was not sent; to write there, too, would be refused."""
    request = a_kernel_request(tool_call={"name": "crm", "params": inner})
    del request["params"]
    tools = the_tools() | crm_policy().tools
    tools["crm"] = replace(tools["crm"], parameters={"properties": {"phone": {"type": "string"}}})
    with pytest.raises(Refused) as caught:
        accept(request | outer, a_policy(tools=tools))
    found = [(fault.code, fault.path) for fault in caught.value.faults]
    assert found == [("V-PROP-005", "target.resource_id"), told]
    assert "write tool_call.params.resource_id, or" in (caught.value.faults[0].suggestion or "")


def test_no_parameters_inside_the_call_are_parameters() -> None:
    request = a_kernel_request(tool_call={"name": "crm", "params": {}})
    del request["params"]
    (fault,) = refusal_of(request).faults
    assert (fault.code, fault.path) == ("V-PROP-005", "target.resource_id")
    assert "write tool_call.params.resource_id, or" in (fault.suggestion or "")
    del request["tool_call"]["params"]
    assert refusal_of(request).faults[1].path == "params"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"tool_call": {"name": "nope"}, "request_id": "", "ts_ms": 0},
            [
                ("V-PROP-001", "request_id"),
                ("V-PROP-002", "ts_ms"),
                ("unknown_tool", "tool_call.name"),
            ],
        ),
        (
            {"tool_call": {}, "actor": "two words", "params": None},
            [
                ("V-PROP-005", "tool_call"),
                ("V-PROP-006", "params"),
                ("invalid_identifier", "actor"),
            ],
        ),
        (
            {"approval_class": "dual", "ts_ms": True, "intent": 1},
            [
                ("V-PROP-002", "ts_ms"),
                ("unknown_field", "approval_class"),
                ("wrong_type", "intent"),
            ],
        ),
        (
            {"tool_call": {"name": "crm", "params": {"resource_id": "c"}}, "params": {"a": 1}},
            [("V-PROP-006", "params")],
        ),
        (
            {"tool_call": {"name": "crm", "params": {}}, "params": None},
            [("V-PROP-005", "target.resource_id"), ("V-PROP-006", "params")],
        ),
        (
            {"tool_call": {"name": 7}, "evidence": ["a b"]},
            [("wrong_type", "tool_call.name"), ("invalid_identifier", "evidence[0]")],
        ),
    ],
)
def test_all_that_is_wrong_with_a_kernel_request_is_told_at_once(
    changes: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    refusal = refusal_of(a_kernel_request(**changes))
    assert [(fault.code, fault.path) for fault in refusal.faults] == told


def test_the_intent_is_kept_out_of_what_is_done() -> None:
    one = accept(a_kernel_request(intent="this"), crm_policy())
    two = accept(a_kernel_request(intent="that"), crm_policy())
    assert one.content_digest == two.content_digest
    assert one.digest != two.digest


def test_a_kernel_request_of_a_tool_without_match_cannot_be_filled() -> None:
    with pytest.raises(Refused) as caught:
        accept(a_kernel_request(tool_call={"name": "delete-data"}), crm_policy())
    assert {fault.code for fault in caught.value.faults} == {"V-PROP-005"}


def test_the_mapping_is_pure() -> None:
    obj = a_kernel_request()
    before = repr(obj)
    of_kernel_request(obj, crm_policy())
    assert repr(obj) == before


@pytest.mark.parametrize(
    ("changes", "path", "remedy"),
    [
        (
            {"params": {"phone": "1"}},
            "target.resource_id",
            ": write params.resource_id, or send a Proposal, which names its target.",
        ),
        (
            {"tool_call": {"name": "delete-data"}},
            "target.resource_type",
            "this tool's does not say this: send a Proposal, which names its target.",
        ),
    ],
)
def test_what_no_target_can_be_made_of_has_a_remedy_that_helps(
    changes: dict[str, Any], path: str, remedy: str
) -> None:
    fault = refusal_of(a_kernel_request(**changes)).faults[0]

    assert fault.path == path
    assert (fault.suggestion or "").endswith(remedy)


def test_who_cannot_say_why_is_told_how_it_can_be_said() -> None:
    accepted = accept(a_kernel_request(), crm_policy())
    proposer = Agent("leila", roles=frozenset({"writer"}))

    decision = decide(proposer, accepted, crm_policy(), (), 0)

    assert (decision.outcome, decision.code) == ("ask", "insufficient_justification")
    assert "send a Proposal with one" in (decision.faults[0].suggestion or "")
    assert decision.faults[0].path == ""  # it named a field that would be refused
    assert accepted.as_sent(Fault("V-PROP-014", "approval_class")).path == ""
    with_one = refusal_of(a_kernel_request(justification="The contact has a new number"))
    assert (with_one.code, with_one.faults[0].path) == ("unknown_field", "justification")
