"""Which evidence the rule looks at, and where in its payload."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.records import EvidencePacket
from tests.builders import NOW_MS, PROD, a_document
from tests.checking import found

RULE = "preconditions_hold"


def a_packet(payload: dict[str, Any], age_ms: int = 0) -> EvidencePacket:
    return EvidencePacket("e1", "crm-sensor", NOW_MS - age_ms, NOW_MS - age_ms, payload)


def said(document: dict[str, Any], *packets: EvidencePacket) -> set[str]:
    everything = found(document, evidence={each.evidence_id: each for each in packets})
    return {code for rule, code, _ in everything if rule == RULE}


@pytest.mark.parametrize(
    ("kind", "required", "asked"),
    [
        ("context", False, False),
        ("context", True, True),
        ("precondition", False, True),
        ("attestation", True, True),
    ],
)
def test_what_a_binding_needs_is_there_and_fresh_and_what_it_merely_names_need_not_be(
    kind: str, required: bool, asked: bool
) -> None:
    binding = {"evidence_id": "e1", "binding_type": kind, "required": required}
    document = a_document(PROD, evidence_bindings=[binding])

    assert said(document) == ({"evidence_missing"} if asked else set())
    assert said(document, a_packet({}, 300_001)) == ({"evidence_stale"} if asked else set())
    assert said(document, a_packet({}, 300_000)) == set()


@pytest.mark.parametrize(
    ("field", "value", "holds"),
    [
        ("tags.0", "vip", True),
        ("tags.1", 7, True),
        ("tags.2", 7, False),
        ("tags.-1", 7, False),
        ("tags.٠", "vip", False),
        ("tags.100000", "vip", False),
        ("name.0", "P", False),
        ("name.0.0", "P", False),
        ("age.0", 4, False),
        ("0", "vip", False),
    ],
)
def test_a_position_is_one_in_a_list_alone(field: str, value: object, holds: bool) -> None:
    condition = {"field": field, "operator": "eq", "value": value, "evidence_ref": "e1"}
    document = a_document(PROD, preconditions=[condition])
    packet = a_packet({"tags": ["vip", 7], "name": "Pat", "age": 40})

    assert said(document, packet) == (set() if holds else {"precondition_false"})


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (["vip", 7], True),
        (["vip", 7.0], True),
        (["vip"], False),
        (["vip", 7, 7], False),
        (["vip", 8], False),
        ([7, "vip"], False),
        (["vip", "7"], False),
        ("vip", False),
        ({"0": "vip", "1": 7}, False),
    ],
)
def test_lists_are_equal_member_by_member(value: object, holds: bool) -> None:
    condition = {"field": "tags", "operator": "eq", "value": value, "evidence_ref": "e1"}
    document = a_document(PROD, preconditions=[condition])

    assert said(document, a_packet({"tags": ["vip", 7]})) == (
        set() if holds else {"precondition_false"}
    )


@pytest.mark.parametrize(("length", "holds"), [(1_000, True), (1_001, False)])
def test_a_pattern_that_is_too_long_matches_nothing(length: int, holds: bool) -> None:
    pattern = "Pat" + "|x" * ((length - 3) // 2) + "|" * ((length - 3) % 2)
    assert len(pattern) == length
    condition = {"field": "name", "operator": "matches", "value": pattern, "evidence_ref": "e1"}
    document = a_document(PROD, preconditions=[condition])

    assert said(document, a_packet({"name": "Pat"})) == (set() if holds else {"precondition_false"})
