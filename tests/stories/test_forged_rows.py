"""Somebody writes into what is under way: what the bot does not act on, and what is named."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.policy import Level, RuleSettings
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.tools import answering, raising, waiting_for
from tests.stage import staged
from tests.stories.forging import DATABASE, exchanged, named, problems
from tests.stories.resting_on_evidence import CONDITION
from tests.stories.test_questions import asks, id_of
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


#: What somebody makes of a mail that stands in its window, so that it would be sent.
TO_BE_SENT = {
    "its window is shortened": "window_closes_at_ms = window_closes_at_ms - 890000",
    "its window is taken away": "window_closes_at_ms = 1",
    "and all else that says how long it was": "window_closes_at_ms = 1, rest = json_set(rest,"
    " '$.execution.window_opens_at_ms', 0, '$.window_s', 0)",
}


@pytest.mark.parametrize("change", TO_BE_SENT.values(), ids=TO_BE_SENT)
async def test_no_mail_is_sent_before_its_window_is_over(
    world: World, forged: Any, change: str
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(f"UPDATE proposals SET {change}")
    assert any("its window's end is" in words for words in await problems(world))

    await world.passes(minutes=1)

    stuck = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert "not what the trail tells" in stuck.attention_why
    assert any("its window's end is" in words for words in await problems(world))


async def test_people_go_on_with_a_mail_whose_window_was_changed(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET window_closes_at_ms = 1")
    await world.passes(minutes=1)

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    await world.passes(minutes=10)
    assert world.tool(SEND).verbs() == ["execute"]
    await world.passes(minutes=6)

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal(proposal_id)).state is State.COMPLETED
    assert await problems(world) == []


async def test_no_mail_is_sent_that_was_set_into_its_window_by_hand(
    world: World, forged: Any
) -> None:
    await world.submits(MAIL)
    forged(
        "UPDATE proposals SET state = 'executing', verb = 'execute', attempt = 1,"
        " outcome = 'done', window_closes_at_ms = 1,"
        " rest = json_set(rest, '$.execution', json_object('window_opens_at_ms', 0))"
    )
    await world.passes(minutes=1)

    assert world.tool(SEND).verbs() == []
    said = await problems(world)
    assert any("and no entry tells that it began" in words for words in said)


async def test_no_mail_is_sent_whose_document_was_exchanged_within_its_window(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(exchanged(await world.proposal(proposal_id), b"pat@", b"eve@"))

    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute"]
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


@pytest.mark.parametrize("fits", [True, False])
async def test_people_are_told_of_a_mail_that_was_changed_within_its_window(
    world: World, forged: Any, fits: bool
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    other = exchanged(await world.proposal(proposal_id), b"pat@", b"eve@")
    forged(
        other if fits else "UPDATE proposals SET digest = 'sha256:' || substr(digest, 8, 63) || '_'"
    )

    await world.passes(minutes=16)

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert any("Somebody changed the database." in str(message.body) for message in told)


@pytest.mark.parametrize("answered", [True, False])
async def test_no_mail_is_sent_over_a_cross_that_was_kept_and_taken_away(
    world: World, forged: Any, answered: bool
) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = (
        waiting_for(gate, {"id": "1"}) if answered else raising(RuntimeError("cut"))
    )
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    if not answered:
        await world.workflow.idle()
    await world.workflow.reject(proposal_id, world.sender("ben"), "not that one")
    doubt = "" if answered else ", outcome = 'done', attention = NULL"
    forged(f"UPDATE proposals SET kept_stop = NULL{doubt}")
    forged("DELETE FROM reviews WHERE decision = 'roll_back'")
    said = await problems(world)
    assert f"proposal {proposal_id}: the ❌ of ben waits for its tool, and is not kept" in said
    gate.set()
    await world.workflow.idle()
    await world.passes(minutes=16)

    assert "commit" not in world.tool(SEND).verbs()


async def test_what_never_began_is_not_taken_up_after_a_crash(tmp_path: Path, forged: Any) -> None:
    tools = dict(a_policy().tools)
    tools[DEPLOY] = replace(tools[DEPLOY], idempotent=True)
    async with staged(DATABASE, tmp_path, a_policy(tools=tools)) as world:
        proposal_id = (await world.submits(PROD)).proposal_id or ""
        forged(
            "UPDATE proposals SET state = 'executing', verb = 'execute', attempt = 1,"
            " outcome = 'running', rest = json_set(rest, '$.execution', json_object())"
        )
        await world.restarts()
        await world.passes(seconds=10)
        reply = await world.workflow.retry(proposal_id, world.sender("ana"))

        stuck = await world.proposal(proposal_id)
        assert world.tool(DEPLOY).verbs() == []
        assert stuck.attention is Attention.OUTCOME_UNKNOWN
        assert (reply.done, reply.code) == (False, "digest_mismatch")


async def test_a_mail_is_not_committed_with_what_another_one_was_answered(
    world: World, forged: Any
) -> None:
    world.tool(SEND).on["execute"] = answering({"stage": "mine"})
    await world.approves("ana", (await world.submits(MAIL)).proposal_id or "")
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.receipt.stage', 'other')")
    assert any("what its tool answered is not" in words for words in await problems(world))

    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute"]


async def test_a_window_begins_anew_as_long_as_the_trail_tells(world: World, forged: Any) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_set(rest, '$.window_s', 1)")
    assert any("its window's length in s is 1" in words for words in await problems(world))

    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    await world.passes(minutes=14)

    assert world.tool(SEND).verbs() == ["execute"]


async def test_what_was_raised_to_people_keeps_the_window_and_the_findings_that_the_trail_tells(
    world: World, forged: Any
) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=rules)
    await world.observes(True)
    await world.workflow.freeze("for a moment", world.sender("ana"))
    proposal_id = (await world.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.clock.advance(1)
    await world.observes(False)
    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=1)
    assert "raised" in await world.trail(proposal_id)
    assert await problems(world) == []

    forged("UPDATE proposals SET rest = json_set(rest, '$.window_s', 1)")
    assert any("its window's length in s is 1" in words for words in await problems(world))
    forged("UPDATE proposals SET rest = json_set(rest, '$.quorum_needs_people', json('false'))")
    assert any("its need of people is False" in words for words in await problems(world))
    forged("UPDATE proposals SET verdict = replace(verdict, 'precondition_false', 'other')")
    assert any("what Sentinel found is not" in words for words in await problems(world))


async def test_what_sentinel_found_is_what_the_trail_tells(world: World, forged: Any) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["invoice"]})
    await world.adopts(rules=rules)
    await world.submits(MAIL)
    assert await problems(world) == []

    forged("UPDATE proposals SET verdict = replace(verdict, 'prohibited_phrase', 'other')")

    said = "what Sentinel found is not what the trail tells"
    assert await named(world) == [said]


@pytest.mark.parametrize("changed", ["'$.reason', 'all is well'", "'$.by', 'ben'", "'$.at_ms', 1"])
async def test_a_freeze_is_the_one_that_the_trail_tells_of(
    world: World, forged: Any, changed: str
) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))

    forged(f"UPDATE flags SET value = json_set(value, {changed}) WHERE name = 'freeze'")

    assert [words[:18] for words in await problems(world)] == ["freeze: its reason"]


async def test_a_freeze_that_is_lifted_by_hand_is_named(world: World, forged: Any) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    assert await problems(world) == []

    forged("UPDATE flags SET value = 'null' WHERE name = 'freeze'")

    assert [words[:20] for words in await problems(world)] == ["freeze: it is lifted"]


#: What somebody makes of a question that ben answered with "No.", and what is said of it.
OF_A_QUESTION = {
    "'$.answer', 'Yes.'": "its answer is not the one of entry",
    "'$.answered_by', 'ana'": "it was answered by ana, entry",
    "'$.answered_at_ms', 1": "it was not answered when entry",
    "'$.intent', 'May I refund order 17?'": "what is asked, or by whom, is not what entry",
    "'$.asked_at_ms', 1": "its witness or its time is not the one of entry",
}


async def test_a_question_says_what_the_trail_tells_of_it(world: World, forged: Any) -> None:
    asked = id_of(await asks(world, "May I delete the account of order 99?"))
    waiting = id_of(await asks(world, "May I refund order 17?"))
    await world.workflow.answer_question(asked, world.sender("ben"), "No.")
    assert await problems(world) == []

    where = f"WHERE name = 'question:{asked}'"
    [(whole,)] = forged(f"SELECT value FROM flags {where}")
    for change, said in OF_A_QUESTION.items():
        forged(f"UPDATE flags SET value = json_set(value, {change}) {where}")
        assert [words for words in await problems(world) if said in words], (change, said)
        forged(f"UPDATE flags SET value = '{whole}' {where}")
    assert await problems(world) == []

    forged(f"DELETE FROM flags {where}")
    answer = "'$.answer', 'Yes.', '$.answered_by', 'ben'"
    forged(f"UPDATE flags SET value = json_set(value, {answer}) WHERE name = 'question:{waiting}'")
    assert [words.split(",")[0] for words in await problems(world)] == [
        f"question {asked}: it is gone or cannot be read",
        f"question {waiting}: it has an answer of ben",
    ]


async def test_what_was_exchanged_within_its_window_is_taken_back_where_nothing_is_committed(
    world: World, forged: Any
) -> None:
    """A tool that acted at once has nothing to commit: it would have ended as completed."""
    target = PROD["target"] | {"domain": "staging.shop.example"}
    staging = await world.submits(PROD, tool="staging-deploy", target=target)
    proposal_id = staging.proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET document = replace(document, '{', '{ ')")

    await world.passes(minutes=16)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "digest_mismatch")
    assert world.tool("staging-deploy").verbs() == ["execute", "roll_back"]
