"""What a proposal must mean at this moment: times, envelope, evidence, a quorum within reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.meaning import meaning_faults
from lifecycle.policy import ActionType, ApprovalClass, Policy
from lifecycle.records import EvidencePacket
from lifecycle.tier import Tier
from tests.builders import MAIL, NOW_MS, PROD, a_document, a_policy, a_tool, the_people, the_tools
from tests.checking import found, verdict_on

WEEK_MS = 604_800_000


def codes(
    document: dict[str, Any],
    policy: Policy | None = None,
    *packets: EvidencePacket,
    now_ms: int = NOW_MS,
) -> list[tuple[str, str]]:
    policy = policy or a_policy()
    book = {packet.evidence_id: packet for packet in packets}
    accepted = accept(document, policy)
    return [(f.code, f.path) for f in meaning_faults(accepted, policy, now_ms, book.get)]


def window(from_ms: int, until_ms: int, longest_ms: int = 1000) -> dict[str, int]:
    return {
        "valid_from_ms": NOW_MS + from_ms,
        "valid_until_ms": NOW_MS + until_ms,
        "max_duration_ms": longest_ms,
    }


def a_packet(source: str = "crm-sensor", age_ms: int = 0) -> EvidencePacket:
    return EvidencePacket("ev-1", source, NOW_MS - age_ms, NOW_MS, {"ok": True})


IMPLAUSIBLE_START = ("implausible_time", "time_window.valid_from_ms")
IMPLAUSIBLE_END = ("implausible_time", "time_window.valid_until_ms")
OVER = ("V-PROP-010", "time_window.valid_until_ms")
CONDITION = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "ev-1"}
AT_EVIDENCE = ("V-PROP-013", "preconditions[0].evidence_ref")


@pytest.mark.parametrize(("off_ms", "fits"), [(600_000, True), (600_001, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_time_of_writing_is_at_most_ten_minutes_off(off_ms: int, fits: bool, sign: int) -> None:
    found = codes(a_document(ts_ms=NOW_MS + sign * off_ms))
    assert found == ([] if fits else [("implausible_time", "ts_ms")])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (window(0, WEEK_MS), []),
        (window(-1, WEEK_MS), [("implausible_time", "time_window")]),
        (window(0, WEEK_MS + 1), [IMPLAUSIBLE_END, ("implausible_time", "time_window")]),
        (window(-WEEK_MS - 1, -WEEK_MS + 5), [IMPLAUSIBLE_START, OVER]),
        (window(0, 1000, 0), [("implausible_time", "time_window.max_duration_ms")]),
        (window(-5, 1), []),
        (window(-5, 0), [OVER]),
        (window(5, 5), []),
        (window(6, 5), [("V-PROP-011", "time_window.valid_from_ms")]),
    ],
)  # fmt: skip
def test_a_time_window_is_one_that_can_be_meant(
    given: dict[str, int], found: list[tuple[str, str]]
) -> None:
    assert codes(a_document(time_window=given)) == found


def test_a_rollback_window_has_the_same_bound() -> None:
    asked = {"kind": "deferred", "window_s": 604_801}
    found = [("implausible_time", "rollback_semantics.window_s")]
    assert codes(a_document(rollback_semantics=asked)) == found


@pytest.mark.parametrize(("records", "fits"), [(1, True), (0, False), (-1, False)])
def test_an_envelope_allows_at_least_one_record(records: int, fits: bool) -> None:
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": records,
        "reversible_required": False,
    }
    found = [("V-PROP-012", "risk_envelope.max_affected_records")]
    assert codes(a_document(risk_envelope=envelope)) == ([] if fits else found)


@pytest.mark.parametrize(
    ("packets", "fits"),
    [
        ([], False),
        ([a_packet()], True),
        ([a_packet(age_ms=300_000)], True),
        ([a_packet(age_ms=300_001)], False),
        ([a_packet("gossip")], False),
        ([a_packet(age_ms=-600_001)], False),
    ],
    ids=["none", "fresh", "just fresh", "stale", "untrusted", "from the future"],
)
def test_evidence_is_recorded_fresh_and_of_a_trusted_source(
    packets: list[EvidencePacket], fits: bool
) -> None:
    found = codes(a_document(preconditions=[CONDITION]), None, *packets)
    assert found == ([] if fits else [AT_EVIDENCE])


@pytest.mark.parametrize(
    ("ahead_ms", "fits"), [(1, True), (300_000, True), (600_000, True), (600_001, False)]
)
def test_what_a_source_saw_a_little_ahead_counts_for_this_step_and_for_the_rule(
    ahead_ms: int, fits: bool
) -> None:
    packet = a_packet(age_ms=-ahead_ms)
    document = a_document(preconditions=[CONDITION])

    assert codes(document, None, packet) == ([] if fits else [AT_EVIDENCE])
    # Nothing further ahead than that is ever recorded, so the rule asks only when it was recorded.
    assert found(document, evidence={"ev-1": packet}) == set()


@pytest.mark.parametrize(("bound", "fits"), [("ev-1", False), ("ev-2", True)])
def test_how_fresh_a_binding_wants_its_evidence_binds_no_other_evidence(
    bound: str, fits: bool
) -> None:
    wants = {
        "evidence_id": bound,
        "binding_type": "context",
        "required": False,
        "freshness_ms": 60_000,
    }
    document = a_document(preconditions=[CONDITION], evidence_bindings=[wants])
    assert codes(document, None, a_packet(age_ms=60_000)) == []
    assert codes(document, None, a_packet(age_ms=60_001)) == ([] if fits else [AT_EVIDENCE])


def test_what_was_recorded_and_seen_after_now_is_said_to_be_in_the_future() -> None:
    packet = replace(a_packet(age_ms=-60_000), recorded_at_ms=NOW_MS + 60_000)
    document = a_document(preconditions=[CONDITION])
    (fault,) = verdict_on(document, evidence={"ev-1": packet}).faults()

    assert fault.code == "evidence_stale"
    assert "observed in the future, 60 s from now" in str(fault.suggestion)


def test_without_the_rule_no_source_is_trusted() -> None:
    assert codes(a_document(preconditions=[CONDITION]), a_policy(rules={}), a_packet()) == [
        AT_EVIDENCE
    ]


def test_a_binding_tightens_freshness_and_binds_only_where_it_is_required() -> None:
    binding = {"evidence_id": "ev-1", "binding_type": "context", "required": True}
    at = ("V-PROP-013", "evidence_bindings[0].evidence_id")
    assert codes(a_document(evidence_bindings=[binding])) == [at]
    assert codes(a_document(evidence_bindings=[binding | {"required": False}])) == []
    tight = binding | {"freshness_ms": 50}
    assert codes(a_document(evidence_bindings=[tight]), None, a_packet(age_ms=50)) == []
    assert codes(a_document(evidence_bindings=[tight]), None, a_packet(age_ms=51)) == [at]
    loose = binding | {"freshness_ms": 10**9}
    assert codes(a_document(evidence_bindings=[loose]), None, a_packet(age_ms=300_001)) == [at]


def test_a_precondition_without_evidence_is_refused() -> None:
    bare = {key: CONDITION[key] for key in ("field", "operator", "value")}
    assert codes(a_document(preconditions=[bare]), None, a_packet()) == [AT_EVIDENCE]


AT_QUORUM = [("V-PROP-014", "approval_class")]


def test_an_unknown_approval_class_is_refused() -> None:
    assert codes(a_document(approval_class="triple")) == AT_QUORUM
    assert codes(a_document(approval_class="")) == AT_QUORUM


def people(*approvers: str) -> Any:
    return {
        name: replace(person, groups=frozenset({"approvers"} if name in approvers else ()))
        for name, person in the_people().items()
    }


@pytest.mark.parametrize(
    ("approvers", "actor", "asked", "fits"),
    [
        (("ana", "ben"), "leila", "dual", True),
        (("ana",), "leila", "dual", False),
        (("ana", "olga"), "leila", "dual", False),
        (("ana", "ben"), "ana", "dual", False),
        (("ana", "ben"), "ana", "single", True),
        ((), "leila", "none", False),
    ],
    ids=["two", "one", "the owner does not count", "nor the proposer", "one other", "nobody"],
)
def test_enough_people_may_review_to_reach_the_quorum(
    approvers: tuple[str, ...], actor: str, asked: str, fits: bool
) -> None:
    policy = a_policy(people=people(*approvers))
    found = codes(a_document(PROD, actor=actor, approval_class=asked), policy)
    assert found == ([] if fits else AT_QUORUM)


def test_a_solo_operator_who_owns_the_agent_is_enough() -> None:
    policy = a_policy(people=people("olga"))
    assert codes(a_document(PROD), policy) == AT_QUORUM
    assert codes(a_document(PROD), replace(policy, solo_operator=True)) == []


@pytest.mark.parametrize(
    ("orchestrator", "actor", "asked", "fits"),
    [("nour", "leila", "none", True), (None, "leila", "none", False),
     ("nour", "nour", "none", False), ("nour", "leila", "single", False)],
)  # fmt: skip
def test_only_auto_approval_may_stand_for_the_one_of_propose(
    orchestrator: str | None, actor: str, asked: str, fits: bool
) -> None:
    policy = a_policy(people=people(), orchestrator=orchestrator)
    found = codes(a_document(MAIL, actor=actor, approval_class=asked), policy)
    assert found == ([] if fits else AT_QUORUM)


@pytest.mark.parametrize(("required", "fits"), [(3, True), (4, False), (0, False)])
def test_a_threshold_takes_its_number_from_the_tool(required: int, fits: bool) -> None:
    given = ApprovalClass.THRESHOLD if required else ApprovalClass.NONE
    tool = a_tool(
        "probe", Tier.CONFIRM, ActionType.EXECUTE, quorum_class=given, quorum_required=required
    )
    policy = a_policy(tools=the_tools() | {"probe": tool})
    found = codes(a_document(PROD, tool="probe", approval_class="threshold"), policy)
    assert found == ([] if fits else AT_QUORUM)
