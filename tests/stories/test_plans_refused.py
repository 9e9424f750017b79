"""What is wrong with a plan is named where it was sent, and becomes no proposal (seed 001)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.llm.routing import UNROUTABLE
from tests.builders import MAIL, PROD, a_document
from tests.stories.test_plans import HINTS, a_derivation, an_envelope, digest, sends
from tests.world import World


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


@pytest.mark.parametrize("key", ["the mail", "target", "reply to"])
@pytest.mark.parametrize(
    "mail",
    [
        a_document(MAIL, parameters={**MAIL["parameters"], "body": "Dear Pat,\ngood day"}),
        a_document(PROD, parameters={"changes": {"motd": {"from": "a\nb", "to": "c"}}}),
    ],
)
async def test_a_candidate_may_say_what_it_may_say_alone_whatever_its_key(
    world: World, mail: dict[str, Any], key: str
) -> None:
    """Below a key like `reply to` every text had to be one line, and `from` and `to` always."""
    envelope = an_envelope(world, [], {"candidateRefs": [digest(mail)]})

    answer = await sends(world, envelope | {"candidates": {key: mail}})

    assert (answer.state, answer.errors) == ("sentinel_approved", ())


@pytest.mark.parametrize(
    ("candidate", "path"),
    [
        (a_document(MAIL, actor="leila\n"), "candidates.mail.actor"),
        (a_document(MAIL, task_id="t\u0085"), "candidates.mail.task_id"),
    ],
)
async def test_a_line_break_in_a_single_line_of_a_candidate_is_named_in_its_place(
    world: World, candidate: dict[str, Any], path: str
) -> None:
    envelope = an_envelope(world, [], {"candidateRefs": [digest(candidate)]})

    answer = await sends(world, envelope | {"candidates": {"mail": candidate}})

    assert (answer.reason, answer.errors[0].path) == ("control_character", path)


async def test_a_key_of_a_candidate_is_one_line(world: World) -> None:
    envelope = an_envelope(world, [], {}) | {"candidates": {"a\nb": a_document(MAIL)}}
    answer = await sends(world, envelope)
    assert (answer.reason, answer.errors[0].path) == ("control_character", 'candidates["a\\nb"]')


@pytest.mark.parametrize(
    "candidate",
    [{"x": 1}, {"request_id": "r1"}, {"proposal": {}}, {"proposal_id": "p1", "request_id": "r1"}],
)
async def test_what_is_no_proposal_is_asked_for_as_a_proposal_in_its_place(
    world: World, candidate: dict[str, Any]
) -> None:
    """It said: Write a Proposal as the envelope. Of some it said that a KernelRequest would do."""
    envelope = an_envelope(world, [], {"candidateRefs": [digest(candidate)]})

    answer = await sends(world, envelope | {"candidates": {"mail": candidate}})

    assert (answer.reason, answer.errors[0].path) == ("proposal_invalid_step", "candidates.mail")
    assert "Send a Proposal as this candidate" in answer.explanation


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


@pytest.mark.parametrize("candidates", [None, [], "mail", 7])
async def test_what_is_no_object_holds_no_candidate(world: World, candidates: Any) -> None:
    envelope = an_envelope(world, [a_document(MAIL)], {}) | {"candidates": candidates}
    without = {key: value for key, value in envelope.items() if key != "candidates"}

    for sent in (envelope, without) if candidates is None else (envelope,):
        assert (await sends(world, sent)).reason == "proposal_invalid_step"
