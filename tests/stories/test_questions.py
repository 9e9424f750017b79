"""A question is what was asked, by whom, and when: nobody gets the answer to another one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Answer
from tests.builders import UNSEEN
from tests.stories.test_plans import HINTS, an_envelope
from tests.world import World

PLAN = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
REFUND = "May I refund order 17?"
DELETE = "May I delete the account of order 99?"


async def asks(
    world: World, intent: str, *, by: str = "leila", plan: Any = PLAN, **changes: Any
) -> Answer:
    envelope = an_envelope(world, [], plan, intent=intent, **changes)
    return await world.workflow.submit(json.dumps(envelope).encode(), world.sender(by))


def id_of(answer: Answer) -> str:
    return str(answer.result["question_id"])


async def said(world: World, kind: str) -> list[str]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [message.body["text"] for message in told if message.kind == kind]


@pytest.mark.parametrize(
    "other",
    [
        {"intent": DELETE},
        {"scope": {"kind": "shop", "order": 99}},
        {"plan": PLAN | {"targetCtxRef": "ctx:accounts"}},
        {"plan": PLAN | {"targetJudgment": {"kind": "obj", "shape": "account"}}},
        {"plan": PLAN | {"candidateRefs": [*HINTS, "hint:another"]}},
        {"by": "nour"},
    ],
    ids=["words", "scope", "target", "judgment", "candidates", "agent"],
)
async def test_another_question_is_posted_and_has_an_answer_of_its_own(
    world: World, other: dict[str, Any]
) -> None:
    first = await asks(world, REFUND)
    await world.workflow.answer_question(id_of(first), world.sender("ben"), "Yes, go ahead.")

    second = await asks(world, **({"intent": REFUND} | other))
    await world.workflow.answer_question(id_of(second), world.sender("ben"), "No.")

    assert id_of(second) != id_of(first)
    assert (second.deduplicated, second.result["answer"]) == (False, None)
    assert len(await said(world, "announcement")) == 2
    assert sum("No." in words for words in await said(world, "note")) == 1


@pytest.mark.parametrize("lacking", HINTS)
async def test_a_plan_that_lacks_a_hint_is_told_which(world: World, lacking: str) -> None:
    """It was told to make the plan good."""
    hints = [hint for hint in HINTS if hint != lacking]

    answer = await asks(world, REFUND, plan=PLAN | {"candidateRefs": hints})

    assert answer.reason in ("stability_failure", "adjoint_triple_coherence_failure")
    assert answer.explanation.startswith(f"Add {lacking} to candidateRefs.")


async def test_a_credential_in_an_answer_is_masked_wherever_it_is_shown(world: World) -> None:
    asked = await asks(world, REFUND)
    await world.workflow.answer_question(
        id_of(asked), world.sender("ben"), "Yes:\npassword=hunter22"
    )

    again = await asks(world, REFUND)

    shown = [*await said(world, "note"), str(again.result["answer"])]
    assert all("hunter22" not in words for words in shown)
    assert sum("Yes: password=‹secret, 8 characters›" in words for words in shown) == 1


async def test_a_scope_that_people_are_not_shown_decides_nothing(world: World) -> None:
    await asks(world, "May I refund it?", scope={"kind": "shop", "order": 99})
    await asks(world, "May I refund it?", scope="order 17")

    shown = await said(world, "announcement")

    assert '{"kind":"shop","order":99}' in shown[0]
    assert "order 17" in shown[1]


async def test_who_repeats_a_question_that_waits_is_told_of_the_one_that_was_posted(
    world: World,
) -> None:
    first = await asks(world, REFUND)
    await world.restarts()
    world.clock.advance(world.workflow.policy.limits.proposal_ttl_s - 1)

    again = await asks(world, REFUND)

    assert (id_of(again), again.deduplicated) == (id_of(first), True)
    assert len(await said(world, "announcement")) == 1


@pytest.mark.parametrize("answered", [True, False])
async def test_what_was_answered_or_has_lapsed_is_asked_anew(world: World, answered: bool) -> None:
    first = await asks(world, REFUND)
    if answered:
        await world.workflow.answer_question(id_of(first), world.sender("ben"), "Yes, this once.")
    else:
        world.clock.advance(world.workflow.policy.limits.proposal_ttl_s)

    second = await asks(world, REFUND)
    late = await world.workflow.answer_question(id_of(first), world.sender("ana"), "Yes, late.")

    assert (second.deduplicated, second.result["answer"]) == (False, None)
    assert id_of(second) != id_of(first)
    assert len(await said(world, "announcement")) == 2
    assert late.done is not answered


async def test_agents_whose_long_ids_begin_alike_are_two(world: World) -> None:
    one, two = (f"{'a' * 45}-{number}" for number in ("one", "two"))
    agents = dict(world.workflow.policy.agents)
    alike = {name: replace(agents["leila"], id=name) for name in (one, two)}
    await world.adopts(agents=agents | alike)

    asked = [id_of(await asks(world, REFUND, by=name)) for name in (one, two)]

    assert len(set(asked)) == 2
    assert max(map(len, asked)) <= 64


async def test_a_question_of_a_former_release_can_still_be_answered(world: World) -> None:
    kept = {
        "question_id": "q-ea17c798df3b0119-leila",
        "actor": "leila",
        "surface": "terminal",
        "intent": REFUND,
        "target": "ctx:shop",
        "asked_at_ms": world.clock.now_ms(),
        "witness": "w1_x",
        "witness_record": {},
        "answer": None,
        "answered_by": None,
        "answered_at_ms": None,
    }

    def put(tx: Any) -> None:
        tx.flags.put("question:q-ea17c798df3b0119-leila", kept)
        tx.flags.put("questions:leila", ["q-ea17c798df3b0119-leila"])

    await world.store.write(put)
    other = await asks(world, DELETE)

    reply = await world.workflow.answer_question(
        "q-ea17c798df3b0119-leila", world.sender("ben"), "Yes."
    )

    assert reply.done
    assert (other.deduplicated, other.result["answer"]) == (False, None)
    assert [words for words in await said(world, "note") if "Yes." in words]


async def test_a_question_repeated_over_and_over_takes_one_place(world: World) -> None:
    limit = world.workflow.policy.agents["leila"].open_limit
    for _ in range(limit + 1):
        await asks(world, REFUND)
    for number in range(limit - 1):
        assert (await asks(world, f"May I refund order {number}0?")).reason is None

    assert (await asks(world, DELETE)).reason == "too_many_open"


@pytest.mark.parametrize(("length", "left"), [(4_000, 0), (4_012, 12)])
async def test_an_answer_that_is_cut_says_so_to_its_giver_and_to_the_agent(
    world: World, length: int, left: int
) -> None:
    asked = id_of(await asks(world, REFUND))
    reply = await world.workflow.answer_question(asked, world.sender("ben"), "y" * length)

    kept = next(words for words in await said(world, "note") if "yyy" in words)
    assert ("without its last 12 characters" in reply.words) is bool(left)
    assert ("… (12 more characters were cut off)" in kept) is bool(left)
    assert kept.count("y" * 4_000) == 1


@pytest.mark.parametrize("words", UNSEEN)
async def test_an_answer_that_nobody_can_see_leaves_the_question_open(
    world: World, words: str
) -> None:
    asked = id_of(await asks(world, REFUND))

    refused = await world.workflow.answer_question(asked, world.sender("ben"), words)

    assert refused.code == "reason_required"
    assert (await world.workflow.answer_question(asked, world.sender("ben"), "Yes, once.")).done
