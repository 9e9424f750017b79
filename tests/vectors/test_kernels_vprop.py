"""Seed 000's rules V-PROP-001 … 014, case by case as the specification derives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lifecycle.errors import Refused
from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.meaning import meaning_faults
from lifecycle.policy import ActionType, Agent, Level, Person, Policy, RuleSettings, ToolPolicy
from lifecycle.records import EvidencePacket
from lifecycle.tier import Tier

CASES = 67


def policy_of(case: dict[str, Any]) -> Policy:
    """A policy in which the actor exists and one tool fits each action type."""
    tools = {
        str(action): ToolPolicy(
            str(action), Tier.AUTO, action, match={"resource_type": "crm_record"}
        )
        for action in ActionType
    }
    people = {
        name: Person(name, groups=frozenset({"approvers"})) for name in case["eligible_approvers"]
    }
    settings = {"trusted_sources": ["sensor"], "freshness_s": 300}
    return Policy(
        "pol1_x",
        tools,
        people=people,
        agents={"agent-sales-001": Agent("agent-sales-001")},
        rules={"preconditions_hold": RuleSettings(Level.HARD, settings)},
    )


def found(case: dict[str, Any]) -> list[str]:
    """The V-PROP codes, once each; what seed 000 does not know is left out."""
    policy, now_ms = policy_of(case), case["now_ms"]
    book = {
        known: EvidencePacket(known, "sensor", now_ms, now_ms, {})
        for known in case["known_evidence"]
    }
    try:
        accepted = accept(case["proposal"], policy)
        faults = meaning_faults(accepted, policy, now_ms, book.get)
    except Refused as refused:
        faults = refused.faults
    codes = [fault.code for fault in faults if fault.code != "implausible_time"]
    assert all(code.startswith("V-PROP") for code in codes), codes
    return list(dict.fromkeys(codes))


def test_every_case_of_the_kernels_rules_has_its_codes_in_order(vectors: Path) -> None:
    cases = json.loads((vectors / "kernels" / "vprop_derived.json").read_text("utf-8"))["cases"]
    wrong = {
        case["id"]: (case["name"], found(case))
        for case in cases
        if found(case) != case["expected_rules"]
    }
    assert wrong == {}
    assert len(cases) == CASES
