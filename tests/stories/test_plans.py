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
from lifecycle.llm.routing import UNROUTABLE
from tests.builders import MAIL, PROD, a_document
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


async def test_a_value_with_one_candidate_is_submitted_like_any_other(world: World) -> None:
    mail = a_document(MAIL)

    answer = await sends(world, an_envelope(world, [mail], {}))

    assert (answer.state, answer.digest) == ("sentinel_approved", digest(mail))
    stored = await world.proposal("p1")
    assert stored.document == canonical_bytes(mail)
    first = (await world.store.read(lambda tx: tx.audit.of("p1")))[0]
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


@pytest.mark.parametrize(
    ("plan", "changes", "code"),
    [
        ({"candidateRefs": ["sha256:other"]}, {}, "proposal_invalid_step"),
        ({"candidateRefs": []}, {}, "descent_failure"),
        (
            {"proposalKind": "refinementPlan", "candidateRefs": HINTS[:3]},
            {},
            "stability_failure",
        ),
        (
            {"binding": {"normalizerId": "signoff.jcs.v1", "policyDigest": "pol1_old"}},
            {},
            "proposal_binding_mismatch",
        ),
        ({}, {"instructionType": "rule.change"}, "instruction_unknown_unroutable"),
        (
            {},
            {"instructionType": "rule.change", "typingPolicy": {"allowUnknown": True}},
            "instruction_unknown_unroutable",
        ),
        ({}, {"requestedChecks": ["none"]}, "instruction_check_not_allowed"),
        ({}, {"review": "approved"}, "unknown_field"),
    ],
)
async def test_what_is_wrong_with_a_plan_leaves_a_witness_and_no_proposal(
    world: World, plan: dict[str, Any], changes: dict[str, Any], code: str
) -> None:
    answer = await sends(world, an_envelope(world, [a_document(MAIL)], plan, **changes))

    assert (answer.reason, answer.state) == (code, None)
    refused = await world.audit("refused")
    assert refused[0]["details"]["witness"]["verdictClass"] == "rejected"
    assert refused[0]["details"]["witness"]["witnessId"].startswith("w1_")


async def test_two_candidates_are_not_chosen_between(world: World) -> None:
    two = [a_document(MAIL), a_document(MAIL, proposal_id="p2")]
    answer = await sends(world, an_envelope(world, two, {}))
    assert answer.reason == "glue_non_contractible"


async def test_who_refers_to_a_candidate_by_its_key_is_told_its_digest(world: World) -> None:
    """It said: Write the digest of a Proposal in candidates. No language model can compute one."""
    mail = a_document(MAIL)
    refs = {"candidateRefs": ["the mail"]}
    envelope = an_envelope(world, [], refs) | {"candidates": {"the mail": mail}}

    refused = await sends(world, envelope)
    told = refused.errors[0].required
    envelope["proposal"]["candidateRefs"] = [told]
    answer = await sends(world, envelope)

    assert (refused.reason, told) == ("proposal_invalid_step", digest(mail))
    assert (answer.state, answer.digest) == ("sentinel_approved", digest(mail))


async def test_who_derives_what_is_no_digest_is_told_that_of_each_candidate(world: World) -> None:
    """It said: Write the digest of exactly one candidate."""
    mail = a_document(MAIL)
    envelope = an_envelope(world, [mail], a_derivation("the mail"))

    refused = await sends(world, envelope)

    assert (refused.reason, len(refused.errors)) == ("proposal_invalid_step", 1)
    assert refused.errors[0].path == "proposal.steps[1].outputs"
    assert digest(mail) in refused.explanation


@pytest.mark.parametrize("name", ["proposal", "llmProposal"])
async def test_each_reference_that_is_none_is_named_where_it_stands_and_as_the_plan_is_called(
    world: World, name: str
) -> None:
    """The first alone was named, by its place in the sorted list, and as `proposal`."""
    mail = a_document(MAIL)
    refs = {"candidateRefs": [digest(mail), "sha256:0", "a"]}
    envelope = an_envelope(world, [mail], refs)
    envelope[name] = envelope.pop("proposal")

    refused = await sends(world, envelope)

    found = [(fault.path, digest(mail) in str(fault.suggestion)) for fault in refused.errors]
    assert found == [(f"{name}.candidateRefs[1]", True), (f"{name}.candidateRefs[2]", True)]
    assert f" at {name}.candidateRefs[1]" in refused.explanation


async def test_a_field_of_the_envelope_keeps_its_name_whatever_the_plan_is_called(
    world: World,
) -> None:
    envelope = an_envelope(world, [], {}, **{"proposal.kind": "value"})
    envelope["llmProposal"] = envelope.pop("proposal")

    refused = await sends(world, envelope)

    found = [(fault.code, fault.path) for fault in refused.errors]
    assert found == [("unknown_field", "proposal.kind")]


async def test_a_fault_of_the_candidate_is_named_in_its_place(world: World) -> None:
    bad = a_document(MAIL, ts_ms="now")
    answer = await sends(world, an_envelope(world, [bad], {}))
    assert answer.reason == "V-PROP-002"
    assert answer.errors[0].path == f"candidates.{digest(bad)}.ts_ms"


async def test_another_agents_candidate_is_not_submitted(world: World) -> None:
    envelope = an_envelope(world, [a_document(MAIL, actor="nour")], {})
    answer = await sends(world, envelope)
    assert answer.reason == "actor_mismatch"
    (row,) = await world.audit("refused")
    assert row["details"]["bytes_digest"] == digest_of(json.dumps(envelope).encode())


def of_many(number: int) -> list[dict[str, Any]]:
    return [a_document(MAIL, task_id=f"t{each}") for each in range(number)]


def with_steps(number: int, yields: str, **wide: list[str]) -> dict[str, Any]:
    *_, last = a_derivation(yields)["steps"]
    first = last | {"outputs": ["fact:a"]} | wide
    return {"proposalKind": "derivation", "steps": [first] * (number - 1) + [last]}


@pytest.mark.parametrize(
    ("candidates", "steps", "wide"),
    [
        (16, 1, {}),
        (1, 64, {}),
        (1, 2, {"inputs": ["fact:a"] * 64}),
        (1, 2, {"outputs": ["fact:a"] * 64}),
    ],
)
async def test_a_plan_has_at_most_so_many_candidates_steps_and_names_a_step(
    world: World, candidates: int, steps: int, wide: dict[str, list[str]]
) -> None:
    proposed = of_many(candidates + (candidates > 1))
    within, most = digest(proposed[0]), proposed[:candidates]

    answer = await sends(world, an_envelope(world, most, with_steps(steps, within, **wide)))
    assert (answer.state, answer.reason) == ("sentinel_approved", None)

    more = {key: [*names, "fact:b"] for key, names in wide.items()}
    longer = steps if more or candidates > 1 else steps + 1
    refused = await sends(world, an_envelope(world, proposed, with_steps(longer, within, **more)))
    assert refused.reason == "proposal_invalid_step"


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


@pytest.mark.parametrize(
    ("plan", "changes", "code"),
    [
        ({"proposalKind": "nothing"}, {"intent": "x" * 200_000}, "proposal_invalid_kind"),
        ({}, {"scope": {"a": "x" * 200_000}, "instructionType": "z"}, UNROUTABLE),
        ({}, {"x" * 200_000: 1}, "unknown_field"),
        (
            {
                "proposalKind": "derivation",
                "steps": [{"ruleId": "r", "claim": "c"}],
                "targetCtxRef": "x" * 60_000,
            },
            {},
            "descent_failure",
        ),
        (a_derivation("y" * 200_000) | {"candidateRefs": []}, {}, "proposal_invalid_step"),
    ],
    ids=["intent", "scope", "name", "target", "output"],
)
async def test_an_envelope_that_is_refused_leaves_no_more_than_an_entry(
    world: World, plan: dict[str, Any], changes: dict[str, Any], code: str
) -> None:
    """No rate holds it up: some hundreds of them a second filled the disk."""
    answer = await sends(world, an_envelope(world, [], plan, **changes))

    assert answer.reason == code
    (entry,) = await world.audit("refused")
    witness = entry["details"]["witness"]
    assert len(canonical_bytes(entry["details"])) < 10_000
    assert witness["witnessId"].startswith("w1_")
    assert witness["failureClasses"] == [code]
    assert witness["context"]["instructionDigest"].startswith("instr1_")
