"""Somebody writes into the database: what the bot does not act on, and what verification names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.trail import verified_in
from lifecycle.policy import Level
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_policy
from tests.by_hand import by_hand
from tests.fakes.tools import answering, raising, waiting_for
from tests.stage import staged
from tests.stories.test_agents_own import the_permit
from tests.stories.test_questions import asks, id_of
from tests.world import World

DATABASE = "sqlite:///signoff.db"
DEPLOY, SEND = "production-deploy", "send-email"
OPENED = "UPDATE proposals SET opener_kind = '{}', opener = '{}', rest = json_set(rest, {})"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with staged(DATABASE, tmp_path) as stage:
        yield stage


@pytest.fixture
def forged(tmp_path: Path) -> Any:
    """Change the file as somebody with the sqlite3 program would."""
    return lambda sql: by_hand(tmp_path / "signoff.db", sql)


def opened_by(kind: str, name: str, puller: str, *more: str) -> str:
    values = ", ".join(("'$.opener_puller'", f"'{puller}'", *more))
    return OPENED.format(kind, name, values)


async def problems(world: World) -> list[str]:
    return (await verified_in(world.store, None, lambda _: None)).problems


async def refused(world: World, proposal_id: str, tool: str) -> None:
    """It ended unexecuted, people were told, and verification says what was wrong with it."""
    await world.passes(seconds=10)
    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.REJECTED, "digest_mismatch")
    assert world.tool(tool).verbs() == []
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert any("Somebody changed the database." in str(message.body) for message in told)


@pytest.mark.parametrize(
    "by",
    [
        ("person", "ben", "person"),
        ("sentinel", "sentinel", "sentinel"),
        ("agent", "nour", "orchestrator"),
        ("person", "ben", "orchestrator"),
    ],
)
async def test_nobody_opens_by_hand_what_nobody_approved(
    world: World, forged: Any, by: tuple[str, str, str]
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    forged(opened_by(*by))
    assert len(await problems(world)) >= 1

    await refused(world, proposal_id, DEPLOY)


async def test_nor_with_one_approval_of_two(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(opened_by("person", "ana", "person"))

    assert f"proposal {proposal_id}: its row lets person ana open it with 1 of 2 approvals" in (
        await problems(world)
    )
    await refused(world, proposal_id, DEPLOY)


async def test_nor_by_making_an_automatic_one_of_what_people_must_look_at(
    tmp_path: Path, forged: Any
) -> None:
    rules = dict(a_policy().rules)
    rules["prohibited_content"] = replace(rules["prohibited_content"], level=Level.SOFT)
    async with staged(DATABASE, tmp_path, a_policy(rules=rules)) as world:
        parameters = {"query": "final warning"}
        asked = await world.submits(
            {**MAIL, "tool": "search", "action_type": "read"}, parameters=parameters
        )
        proposal_id = asked.proposal_id or ""
        assert (await world.proposal(proposal_id)).opener is None
        lowered = "'$.quorum', 0, '$.quorum_needs_people', json('false')"
        forged(opened_by("sentinel", "sentinel", "sentinel", lowered) + ", tier = 'AUTO'")
        assert f"proposal {proposal_id}: its tier is AUTO, the trail says CONFIRM" in (
            await problems(world)
        )

        await refused(world, proposal_id, "search")


async def test_what_somebody_stopped_is_not_revived(world: World, forged: Any) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.rejects("ben", proposal_id)
    forged(
        "UPDATE proposals SET state = 'pending', verdict = NULL, reason = NULL, decided_by = NULL,"
        " decided_by_kind = NULL, decided_at_ms = NULL"
    )
    await world.workflow.thaw(world.sender("ana"))

    await refused(world, proposal_id, DEPLOY)
    assert any("moves it from pending, where it was rejected" in p for p in await problems(world))


async def test_what_was_done_is_not_done_again(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    revived = "state = 'sentinel_approved', decided_at_ms = NULL, deadline_ms = deadline_ms + 1"
    forged(f"{opened_by('person', 'ana', 'person')}, {revived}")
    assert any("its state is sentinel_approved" in words for words in await problems(world))

    await world.passes(seconds=10)

    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert any("it was completed" in words for words in await problems(world))


async def test_nothing_begins_before_the_time_its_document_names(world: World, forged: Any) -> None:
    times = {"valid_from_ms": NOW_MS + 600_000, "valid_until_ms": NOW_MS + 900_000}
    window = times | {"max_duration_ms": 20_000}
    proposal_id = (await world.submits(PROD, time_window=window)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_remove(rest, '$.valid_from_ms', '$.waiting_for')")
    assert any("it may begin at None" in words for words in await problems(world))

    await refused(world, proposal_id, DEPLOY)


async def test_a_permit_of_what_is_approved_no_more_redeems_nothing(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    token = await the_permit(world)
    await world.workflow.take_back(proposal_id, world.sender("ana"))
    forged("UPDATE permits SET consumed_at_ms = NULL")
    forged(opened_by("person", "ana", "person") + ", permit_waits = 1")

    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert (reply.done, reply.code) == (False, "digest_mismatch")
    assert (await world.proposal(proposal_id)).state is State.REJECTED


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


async def test_an_approval_that_was_void_and_is_revived_is_named_whatever_came_of_it(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    people = dict(world.workflow.policy.people)
    people["zoe"] = replace(people["ben"], id="zoe", accounts={})
    await world.adopts(people=people)
    assert await problems(world) == []
    forged("UPDATE reviews SET void_why = NULL")
    await world.approves("ben", proposal_id)

    said = await problems(world)

    assert any("lets person ben open it with 1 of 2 approvals" in words for words in said)
    assert any("the approval by ana counts, although it is void since" in words for words in said)


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
        f"question {asked}: it is gone",
        f"question {waiting}: it has an answer of ben",
    ]
