"""Authority against agent-kernel: its recorded answers, and the live package (seed 004)."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lifecycle.authority import decide, explain, granted_rows
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.policy import ActionType, Agent, Safety, Sensitivity, ToolPolicy
from lifecycle.tier import Tier
from tests.builders import NOW_MS, PROD, a_document, a_policy, a_tool, the_tools

weaver = pytest.importorskip("weaver_kernel", reason="weaver-kernel is a dependency for tests")
GRID = 2_160
OUT_OF_SCOPE = 720
POLICY = a_policy()


def read(vectors: Path, name: str) -> Any:
    return json.loads((vectors / "weaver_kernel" / name).read_text("utf-8"))


@cache
def base_of(safety: str, sensitivity: str) -> Accepted:
    tool = a_tool(
        "probe",
        Tier.AUTO,
        ActionType.EXECUTE,
        roles=None,
        safety=Safety(safety.lower()),
        sensitivity=Sensitivity(sensitivity.lower()),
    )
    policy = a_policy(tools=the_tools() | {"probe": tool})
    return accept(a_document(PROD, tool="probe"), policy)


def wish_of(
    row: dict[str, Any],
    constraints: dict[str, Any] | None = None,
    *,
    tool: ToolPolicy | None = None,
) -> Accepted:
    base = base_of(row["safety_class"], row.get("sensitivity", "NONE"))
    target = base.document.target.model_copy(update={"constraints": constraints or {}})
    given = {"justification": row.get("justification", "x" * 15), "target": target}
    return replace(base, document=base.document.model_copy(update=given), tool=tool or base.tool)


def proposer_of(row: dict[str, Any]) -> Agent:
    tenant = {"tenant": "acme"} if row.get("tenant") else {}
    return Agent("support-agent-7", roles=frozenset(row["roles"]), attributes=tenant)


def ours(row: dict[str, Any]) -> dict[str, Any]:
    wish, proposer = wish_of(row), proposer_of(row)
    decision = decide(proposer, wish, POLICY, (), NOW_MS)
    explanation = explain(proposer, wish.tool, wish.document)
    return {
        "reason_code": decision.code,
        "outcome": decision.outcome.value,
        "max_rows": None if decision.faults else granted_rows(proposer, wish.document),
        "rule_name": explanation.rule_name,
        "codes": [each.code for each in explanation.failed],
        "conditions": [each.name for each in explanation.failed],
    }


def recorded(row: dict[str, Any]) -> dict[str, Any]:
    expected = row["expected"]
    return {
        "reason_code": expected["reason_code"],
        "outcome": expected["outcome"],
        "max_rows": (expected.get("constraints") or {}).get("max_rows"),
        "rule_name": expected["explain"]["rule_name"],
        "codes": expected["explain"]["codes"],
        "conditions": expected["explain"]["conditions"],
    }


def in_scope(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Signoff has no memory tools: its sensitivities are none, pii, pci and secrets."""
    return [row for row in rows if row["sensitivity"] != "MEMORY"]


def test_the_recorded_grid_is_answered_alike(vectors: Path) -> None:
    rows = read(vectors, "default_policy_grid.json")
    kept = in_scope(rows)
    assert (len(rows), len(rows) - len(kept)) == (GRID, OUT_OF_SCOPE)
    assert {r["id"]: (ours(r), recorded(r)) for r in kept if ours(r) != recorded(r)} == {}


def live(row: dict[str, Any], constraints: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the installed package says to the same wish."""
    capability = weaver.Capability(
        "probe",
        "probe",
        "",
        weaver.SafetyClass(row["safety_class"]),
        weaver.SensitivityTag(row["sensitivity"]),
    )
    tenant = {"tenant": "acme"} if row["tenant"] else {}
    principal = weaver.Principal("support-agent-7", roles=row["roles"], attributes=tenant)
    wish = weaver.CapabilityRequest("probe", "go", constraints=constraints or {})
    engine = weaver.DefaultPolicyEngine(clock=lambda: 0.0)
    words = {"justification": row["justification"]}
    explanation = engine.explain(wish, capability, principal, **words)
    said: dict[str, Any] = {
        "rule_name": explanation.rule_name,
        "codes": [str(c.reason_code) for c in explanation.failed_conditions],
        "conditions": [c.condition for c in explanation.failed_conditions],
    }
    try:
        decision = engine.evaluate(wish, capability, principal, **words)
    except weaver.PolicyDenied as denied:
        ask = denied.reason_code == "insufficient_justification"
        outcome = "ask" if ask else "deny"
        return said | {"reason_code": str(denied.reason_code), "outcome": outcome, "max_rows": None}
    rows = decision.constraints["max_rows"]
    return said | {"reason_code": str(decision.reason_code), "outcome": "allow", "max_rows": rows}


def grid() -> list[dict[str, Any]]:
    roles = [[], ["reader"], ["writer"], ["admin"], ["service"], ["secrets_reader"],
             ["reader", "writer"], ["secrets_reader", "writer"], ["admin", "service"]]  # fmt: skip
    words = ["", " " * 20, "x" * 14, "x" * 15, "  " + "x" * 14 + "  ", "\u3000" * 15, "é" * 15]
    return [
        {"safety_class": safety, "sensitivity": sensitivity, "roles": held, "justification": why,
         "tenant": tenant}
        for safety in ("READ", "WRITE", "DESTRUCTIVE")
        for sensitivity in ("NONE", "PII", "PCI", "SECRETS")
        for held in roles
        for why in words
        for tenant in (False, True)
    ]  # fmt: skip


def test_the_live_package_answers_alike() -> None:
    rows = grid()
    assert len(rows) == 1_512
    assert [(row, ours(row), live(row)) for row in rows if ours(row) != live(row)] == []


def test_a_tools_own_roles_are_where_signoff_decides_otherwise_on_purpose() -> None:
    """An operator who writes `roles` means these and no others; agent-kernel knows only classes."""
    row = {"safety_class": "DESTRUCTIVE", "sensitivity": "NONE", "roles": ["writer"],
           "justification": "x" * 15, "tenant": False}  # fmt: skip
    assert ours(row)["reason_code"] == live(row)["reason_code"] == "missing_role"
    own = replace(base_of("DESTRUCTIVE", "NONE").tool, roles=frozenset({"writer"}))
    allowed = decide(proposer_of(row), wish_of(row, tool=own), POLICY, (), NOW_MS)
    assert allowed.code == "default_policy_allow"
    admin = decide(
        proposer_of(row | {"roles": ["admin"]}), wish_of(row, tool=own), POLICY, (), NOW_MS
    )
    assert admin.code == "missing_role"


def test_the_recorded_sequences_are_limited_alike(vectors: Path) -> None:
    for sequence in read(vectors, "rate_limit.json"):
        wish, proposer = wish_of(sequence), proposer_of(sequence)
        uses: list[int] = []
        said = []
        for time_s in sequence["times_s"]:
            now_ms = NOW_MS + int(time_s * 1000)
            decision = decide(proposer, wish, POLICY, uses, now_ms)
            said.append(decision.code if decision.faults else decision.outcome.value)
            if not decision.faults:
                uses.append(now_ms)
        assert said == sequence["expected"], sequence["name"]


def test_the_recorded_row_limits_are_granted_alike(vectors: Path) -> None:
    """Where Python's int() would repair a value, Signoff refuses it: nothing is repaired."""
    cases = read(vectors, "max_rows.json")
    differing = []
    for case in cases:
        row = {"safety_class": "READ", "roles": case["roles"]}
        rows = granted_rows(proposer_of(row), wish_of(row, case["constraints"]).document)
        decision = decide(proposer_of(row), wish_of(row, case["constraints"]), POLICY, (), NOW_MS)
        said = {"reason_code": decision.code} if rows is None else {"max_rows": rows}
        if said != case["expected"]:
            differing.append(case["constraints"]["max_rows"])
            assert said == {"reason_code": "invalid_constraint"}
    assert len(cases) == 30
    assert differing == ["10", "10", 1.9, 1.9, True, True]


def test_the_recorded_explanations_name_the_same_conditions(vectors: Path) -> None:
    for case in read(vectors, "explain_denial.json"):
        if case["sensitivity"] == "MEMORY":
            continue
        wish = wish_of(case)
        explanation = explain(proposer_of(case), wish.tool, wish.document)
        expected = case["expected"]
        assert explanation.denied is expected["denied"]
        assert explanation.reason_code == expected["reason_code"]
        named = [(c["condition"], c["reason_code"]) for c in expected["failed_conditions"]]
        assert [(c.name, c.code) for c in explanation.failed] == named
