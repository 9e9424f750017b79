"""Whatever somebody types, in any field: an answer, never an exception, and the bot goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lifecycle.answers import Sender
from lifecycle.canonical import s256
from lifecycle.proposal import ActorKind
from tests.builders import PROD, REFUND
from tests.stories.permits import permitted, the_permit
from tests.world import World

TEXTS = ["", " ", "\ud800", "\x00", "x" * 1_000_000, "p1\n", "💥" * 5_000, "'; DROP TABLE audit;--"]

ACTS: dict[str, Callable[[Any, str, Sender], Awaitable[Any]]] = {
    "approve": lambda w, text, who: w.approve(text, who, text),
    "reject": lambda w, text, who: w.reject(text, who, text),
    "roll_back": lambda w, text, who: w.roll_back(text, who, text),
    "take_back": lambda w, text, who: w.take_back(text, who),
    "give_reason": lambda w, text, who: w.give_reason(text, who, text),
    "withdraw": lambda w, text, who: w.withdraw(text, who),
    "settle": lambda w, text, who: w.settle(text, who, True),
    "retry": lambda w, text, who: w.retry(text, who),
    "freeze": lambda w, text, who: w.freeze(text, who),
    "answer": lambda w, text, who: w.answer_question(text, who, text),
    "redeem": lambda w, text, who: w.redeem(text, {text: text}, who),
    "report": lambda w, text, who: w.report(text, who, text, {text: text}),
    "note_ignored": lambda w, text, who: w.note_ignored(text, who, "wrong_place"),
    "submit": lambda w, text, who: w.submit(text.encode("utf-8", "surrogatepass"), who),
    "evidence": lambda w, text, who: w.record_evidence(text.encode("utf-8", "surrogatepass"), who),
}


@pytest.mark.parametrize("act", ACTS)
async def test_no_words_break_anything(world: World, act: str) -> None:
    for text in TEXTS:
        for name in ("ana", "leila", "crm-sensor", "nobody"):
            known = world.sender(name)
            strange = Sender("terminal", known.kind, known.id, account=text, event_id=None)
            for who in (known, strange):
                assert (
                    await ACTS[act](world.workflow, text, who) is not None or act == "note_ignored"
                )
    await world.workflow.thaw(world.sender("ana"))
    await world.workflow.anchor()

    proposal_id = (await world.submits(PROD)).proposal_id or ""
    assert (await world.approves("ana", proposal_id)).done
    assert world.tool("production-deploy").verbs() == ["execute"]


@pytest.mark.parametrize("text", TEXTS)
async def test_no_reason_breaks_a_stop(world: World, text: str) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""

    reply = await world.workflow.reject(proposal_id, world.sender("ana"), text)

    assert reply.done
    assert (await world.proposal(proposal_id)).decided_by is not None
    assert world.sender("ana").kind is ActorKind.PERSON


async def test_half_a_character_whose_hash_was_approved_is_no_text_and_begins_nothing(
    world: World,
) -> None:
    text = "Dear Pat \ud800"
    letter = {"s256": s256(text.encode("utf-8", "surrogatepass"))}
    parameters = REFUND["parameters"] | {"letter": letter}
    proposal_id = await permitted(world, parameters=parameters)

    presented = parameters | {"letter": text}
    reply = await world.workflow.redeem(await the_permit(world), presented, world.sender("leila"))

    assert (reply.code, reply.words.isascii()) == ("proposal_parameter_mismatch", True)
    assert (await world.proposal(proposal_id)).state == "sentinel_approved"
    assert [row["reason"] for row in await world.audit("permit_refused")] == [reply.code]
