"""Somebody writes over a question, or over the list of an agent's questions: it asks others all
the same, and people answer them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.questions import asked_in, is_answered, question_of
from lifecycle.records import Message
from tests.stories.forging import problems
from tests.stories.test_questions import DELETE, REFUND, asks, id_of
from tests.world import World

NO_QUESTIONS = [5, "x", [], [1], {"a": 1}, "{", {"answer": None}]
#: Keys of a question with what none has there.
NO_VALUES: dict[str, Any] = {
    "question_id": "q-another",
    "actor": 5,
    "intent": None,
    "target": [],
    "witness": {},
    "asked_at_ms": 2**63,
    "answer": 5,
    "answered_by": [1],
    "answered_at_ms": "noon",
}


async def writes(world: World, flag: str, value: Any) -> None:
    await world.store.write(lambda tx: tx.flags.put(flag, value))


async def others_are_asked(world: World) -> None:
    second = await asks(world, DELETE)
    await world.workflow.answer_question(id_of(second), world.sender("ben"), "No.")
    again = await asks(world, DELETE)
    assert (again.deduplicated, id_of(again) != id_of(second)) == (False, True)


@pytest.mark.parametrize("value", NO_QUESTIONS, ids=map(json.dumps, NO_QUESTIONS))
@pytest.mark.parametrize("what", ["question", "list"])
async def test_what_is_no_question_keeps_its_agent_from_no_other(
    world: World, what: str, value: Any
) -> None:
    """That agent could not ask anybody anything any more."""
    asked_id = id_of(await asks(world, REFUND))
    flag = f"question:{asked_id}" if what == "question" else "questions:leila"
    await writes(world, flag, value)

    await others_are_asked(world)


@pytest.mark.parametrize("key", NO_VALUES)
async def test_what_is_no_question_is_answered_by_nobody_and_named(world: World, key: str) -> None:
    asked_id = id_of(await asks(world, REFUND))
    kept = await world.store.read(lambda tx: question_of(tx, asked_id))
    await writes(world, f"question:{asked_id}", {**(kept or {}), key: NO_VALUES[key]})
    posted = Message(f"question:{asked_id}@terminal", "terminal", "", "announcement", {}, 1)

    reply = await world.workflow.answer_question(asked_id, world.sender("ben"), "Yes.")

    assert (reply.done, reply.code) == (False, "unknown_proposal")
    assert not await world.store.read(lambda tx: is_answered(tx, posted))
    assert f"question {asked_id}" in "".join(await problems(world))
    await others_are_asked(world)


async def test_a_place_that_names_no_question_is_talk(world: World) -> None:
    await writes(world, "question_message:terminal:m1", {"id": 5})

    assert await world.store.read(lambda tx: asked_in(tx, "terminal", "m1")) is None
