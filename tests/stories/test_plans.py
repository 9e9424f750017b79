"""Plans of language models, end to end: a value, a derivation, a question (seed 001)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.explained import explained
from bot.views import show
from lifecycle.answers import Answer
from lifecycle.canonical import canonical_bytes, digest_of
from tests.builders import MAIL, PROD, a_document
from tests.roads import trail_of
from tests.world import World

HINTS = [
    "hint:adjoint_triangle",
    "hint:beck_chevalley_pi",
    "hint:beck_chevalley_sigma",
    "hint:refinement_invariance",
]


def digest(document: Mapping[str, Any]) -> str:
    return digest_of(canonical_bytes(document))


def an_envelope(
    world: World, candidates: list[dict[str, Any]], plan: Mapping[str, Any], **changes: Any
) -> dict[str, Any]:
    policy = world.workflow.policy.digest
    bound = {"normalizerId": "signoff.jcs.v1", "policyDigest": policy}
    return {
        "schema": 1,
        "intent": "Send the invoice to Pat",
        "scope": {"kind": "shop"},
        "requestedChecks": ["prohibited_content"],
        "candidates": {digest(each): each for each in candidates},
        "proposal": {
            "proposalKind": "value",
            "targetCtxRef": "ctx:shop",
            "targetJudgment": {"kind": "obj", "shape": "mail"},
            "candidateRefs": [digest(each) for each in candidates],
            "binding": bound,
            **plan,
        },
        **bound,
        **changes,
    }


async def sends(world: World, envelope: Mapping[str, Any]) -> Answer:
    answer = await world.workflow.submit(json.dumps(envelope).encode(), world.sender("leila"))
    await world.shows()
    return answer


def a_derivation(yields: str) -> dict[str, Any]:
    steps = [
        {"ruleId": "look.up", "inputs": ["order:17"], "outputs": ["fact:a"], "claim": "it is due"},
        {"ruleId": "compose", "inputs": ["fact:a"], "outputs": [yields], "claim": "so we write"},
    ]
    return {"proposalKind": "derivation", "steps": steps}


@pytest.mark.parametrize("typed", [{}, {"instructionType": "proposal.value"}])
async def test_a_value_with_one_candidate_is_submitted_like_any_other(
    world: World, typed: dict[str, str]
) -> None:
    mail = a_document(MAIL)

    answer = await sends(world, an_envelope(world, [mail], {}, **typed))

    assert (answer.state, answer.digest) == ("sentinel_approved", digest(mail))
    stored = await world.proposal("p1")
    assert stored.document == canonical_bytes(mail)
    first = (await world.store.read(lambda tx: trail_of(tx, "p1")))[0]
    assert first.event.details["witness"] == stored.extra["witness"]
    assert first.event.details["provenance"] == "llm_proposed"
    shown = await world.store.read(lambda tx: show(tx, "p1", world.clock.now_ms()))
    assert shown["witness"].startswith("w1_")


async def test_a_derivation_carries_its_plan_to_people(world: World) -> None:
    deploy = a_document(PROD)

    answer = await sends(world, an_envelope(world, [deploy], a_derivation(digest(deploy))))

    assert answer.state == "sentinel_approved"
    stored = await world.proposal("p1")
    assert stored.extra["plan"]["steps"][1]["claim"] == "so we write"
    policy, now_ms = world.workflow.policy, world.clock.now_ms()
    told = await world.store.read(lambda tx: explained(tx, "p1", policy, now_ms))
    assert told["witness"]["witnessId"] == stored.extra["witness"]
    assert told["witness"]["proposalIngest"]["discharge"]["outcome"] == "accepted"
    await world.approves("ana", "p1")
    assert world.tool("production-deploy").verbs() == ["execute"]


async def test_a_refinement_plan_is_a_question_and_the_first_reviewer_answers(world: World) -> None:
    plan = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
    envelope = an_envelope(world, [], plan, intent="Which of the two orders is meant?")

    answer = await sends(world, envelope)

    assert (answer.state, answer.reason) == (None, None)
    asked = answer.result["question_id"]
    waiting = await world.store.read(
        lambda tx: tx.outbox.waiting("terminal", world.clock.now_ms(), 10)
    )
    assert any("Which of the two orders" in str(m.body.get("text")) for m in waiting)
    stranger = await world.workflow.answer_question(asked, world.sender("cal"), "the first")
    assert stranger.code == "not_a_reviewer"
    assert (await world.workflow.answer_question(asked, world.sender("ben"), "order 17")).done
    late = await world.workflow.answer_question(asked, world.sender("ana"), "order 18")
    assert late.code == "already_decided"
    told = await world.store.read(
        lambda tx: list(tx.outbox.waiting("terminal", world.clock.now_ms(), 10))
    )
    assert any(m.recipient == "leila" and "order 17" in m.body["text"] for m in told)


KEY = "AKIAIOSFODNN7ABCDEFG"
TOLD_IN_A_PLAN: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    ({}, {"intent": f"use {KEY}"}),
    ({}, {"scope": {"key": KEY}}),
    ({"targetCtxRef": KEY}, {}),
    ({"targetJudgment": {"kind": "obj", "shape": KEY}}, {}),
]


@pytest.mark.parametrize(("plan", "changes"), TOLD_IN_A_PLAN)
@pytest.mark.parametrize("kind", ["derivation", "refinementPlan"])
async def test_a_credential_in_a_plan_is_kept_and_told_masked_whatever_becomes_of_it(
    world: World, kind: str, plan: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    one = a_document(MAIL)
    steps = a_derivation(digest(one))["steps"]
    steps = [each | {"claim": f"{each['claim']} {KEY}"} for each in steps]
    told = {"steps": steps} if kind == "derivation" else {"candidateRefs": []}

    answer = await sends(
        world, an_envelope(world, [one], {"proposalKind": kind, **told, **plan}, **changes)
    )

    trail = await world.store.read(lambda tx: tx.audit.exported(0, 100))
    assert KEY not in json.dumps([answer.as_json(), trail])
    if kind == "derivation":
        kept = await world.proposal("p1")
        assert (kept.state.value, KEY in repr(kept)) == ("sentinel_approved", False)
    else:
        assert answer.reason == "adjoint_triple_coherence_failure"


async def test_a_candidate_under_a_credential_is_refused_without_repeating_it(
    world: World,
) -> None:
    answer = await sends(world, an_envelope(world, [], {}) | {"candidates": {KEY: 5}})

    assert answer.reason == "proposal_invalid_step"
    (row,) = await world.audit("refused")
    assert KEY not in json.dumps([answer.as_json(), row["details"]])
