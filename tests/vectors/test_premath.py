"""Seed 001 against the vectors of its origin: every check, id and digest to the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lifecycle.canonical import policy_digest
from lifecycle.errors import Refused
from lifecycle.llm.digests import witness_id
from lifecycle.llm.envelope import read_envelope
from lifecycle.llm.normalizer import InstructionPolicy, Normalizer, Terms
from lifecycle.llm.obligations import discharge
from lifecycle.llm.plan import read_plan
from lifecycle.llm.routing import Typed, Unknown, decide

TERMS = Terms(Normalizer("normalizer.test.v1"))


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def outcome(raw: Any) -> dict[str, Any]:
    """Check one plan and say what came out, in the words of the vectors."""
    try:
        plan = read_plan(raw, TERMS)
    except Refused as refused:
        return {"valid": False, "failureClass": refused.code}
    found = discharge(plan, TERMS.normalizer)
    return {
        "valid": True,
        "canonical": plan.canonical,
        "canonicalJson": TERMS.normalizer.bytes_of(plan.canonical).decode(),
        "digest": plan.digest,
        "kcirRef": plan.kcir,
        "discharge": {
            "obligationKinds": [each["kind"] for each in found.obligations],
            "outcome": found.as_json()["outcome"],
            "failureClasses": list(found.failure_classes),
        },
        "obligations": list(found.obligations),
        "dischargeFull": found.as_json(),
    }


def test_every_plan_is_checked_as_its_origin_checks_it(vectors: Path) -> None:
    cases = loaded(vectors / "premath" / "proposal_check.json")
    assert len(cases) == 65
    for case in cases:
        expected = {k: v for k, v in case["expected"].items() if k != "message"}
        assert outcome(case["proposal"]) == expected, case["id"]


def test_a_witness_keeps_its_id_whatever_its_words_are(vectors: Path) -> None:
    found = sorted((vectors / "premath" / "witness_id").glob("*/*/case.json"))
    assert len(found) == 5
    for path in found:
        case = loaded(path)["artifacts"]
        ours = (witness_id(case["leftWitness"]), witness_id(case["rightWitness"]))
        assert ours == (case["expectedLeftWitnessId"], case["expectedRightWitnessId"]), path


def test_a_policy_is_named_by_its_content(vectors: Path) -> None:
    found = sorted((vectors / "premath" / "policies").glob("*.json"))
    assert len(found) == 4
    for path in found:
        policy = loaded(path)
        declared = policy.pop("policyDigest")
        assert policy_digest(policy) == declared, path


def typing_result(artifacts: dict[str, Any]) -> tuple[str, list[str]]:
    """Judge one typing vector the way its suite does: claim, classification, both runs alike."""
    asked = artifacts.get("request")
    claims = (asked or artifacts).get("claimedCapabilities", [])
    if asked and "capabilities.instruction_typing" not in claims:
        return "rejected", []
    if "input" in artifacts:
        return artifacts["input"]["kernelVerdict"], artifacts["input"]["gateFailureClasses"]
    runs = [typed_run(artifacts, run) for run in ("A", "B")]
    if all(isinstance(run, list) for run in runs):
        return "rejected", sorted({each for run in runs for each in run})
    if any(isinstance(run, list) for run in runs):
        return "rejected", next(run for run in runs if isinstance(run, list))
    return ("accepted", []) if runs[0] == runs[1] else ("rejected", ["proposal_nondeterministic"])


def typed_run(artifacts: dict[str, Any], run: str) -> Any:
    """Return the failure classes of one run, else what the other run must equal."""
    said = artifacts[f"classification{run}"]
    typed = Typed(said["kind"]) if said["state"] == "typed" else Unknown(said["reason"])
    sent = artifacts.get(f"proposal{run}")
    try:
        plan = read_plan(sent, TERMS) if sent is not None else None
    except Refused as refused:
        return [refused.code]
    found = discharge(plan, TERMS.normalizer) if plan else None
    decision = decide(typed, found, allow_unknown=artifacts["policy"]["allowUnknown"])
    if not decision.accepted:
        return list(decision.failure_classes)
    return (typed, plan.digest if plan else None)


def test_every_instruction_is_typed_as_its_origin_types_it(vectors: Path) -> None:
    folder = vectors / "premath" / "instruction_typing"
    names = loaded(folder / "manifest.json")["vectors"]
    assert len(names) == 12
    for name in names:
        expected = loaded(folder / name / "expect.json")
        result, classes = typing_result(loaded(folder / name / "case.json")["artifacts"])
        assert result == expected["result"], name
        assert expected.get("expectedFailureClasses") in (None, classes), name


def test_the_envelopes_of_the_origin_are_read(vectors: Path) -> None:
    policies = [loaded(path) for path in (vectors / "premath" / "policies").glob("policy-*.json")]
    registry = {
        policy["policyDigest"]: InstructionPolicy(
            frozenset(policy["allowedNormalizers"]), frozenset(policy["allowedChecks"])
        )
        for policy in policies
    }
    terms = Terms(Normalizer("normalizer.ci.v1"), registry)
    found = sorted((vectors / "premath" / "instructions").glob("*.json"))
    assert len(found) == 2
    for path in found:
        envelope = read_envelope(loaded(path), terms)
        assert envelope.intent == loaded(path)["intent"]
