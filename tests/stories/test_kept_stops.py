"""A ❌ that had to wait is never lost, whatever the tool answers then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from bot.chat.hearing.incoming import Incoming
from lifecycle.answers import CardPlace
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import raising, waiting_for
from tests.stories.forging import problems
from tests.world import World

SEND = "send-email"


async def unknown_commit(world: World, mail: str) -> None:
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.passes(minutes=15)
    assert (await world.proposal(mail)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_cross_kept_over_an_unknown_commit_is_carried_out_where_it_did_not_happen(
    world: World, mail: str
) -> None:
    await unknown_commit(world, mail)
    await world.rejects("ben", mail, "take it back")

    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    await world.workflow.idle()

    ended = await world.proposal(mail)
    assert world.tool(SEND).verbs() == ["execute", "commit", "roll_back"]
    assert (ended.state, ended.explanation) == (State.ROLLED_BACK, "take it back")


async def test_what_somebody_stopped_is_not_tried_again(world: World, mail: str) -> None:
    await unknown_commit(world, mail)
    await world.rejects("ben", mail, "take it back")

    reply = await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()

    assert reply.code == "already_decided"
    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_the_first_of_two_kept_crosses_decides(world: World, mail: str) -> None:
    await unknown_commit(world, mail)
    await world.rejects("ben", mail, "first")
    await world.rejects("ana", mail, "second")

    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    await world.workflow.idle()

    ended = await world.proposal(mail)
    assert (str(ended.decided_by), ended.explanation) == ("person ben", "first")


async def test_the_call_that_takes_back_tells_where_the_first_cross_was_given(
    world: World, mail: str
) -> None:
    await unknown_commit(world, mail)
    await world.workflow.reject(mail, world.sender("ben", "event-ben"), "first")
    await world.workflow.reject(mail, world.sender("ana", "event-ana"), "second")

    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    await world.workflow.idle()

    for kind in ("roll_back_claimed", "roll_back"):
        (row,) = await world.audit(kind)
        assert (row["actor"]["id"], row["event_id"]) == ("ben", "event-ben")


async def test_the_words_behind_a_kept_bare_cross_are_waited_for(world: World) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    place = CardPlace("terminal", f"m-{proposal_id}")
    await world.workflow.reject(proposal_id, world.sender("ben"), card=place)
    gate.set()
    await world.workflow.idle()

    reply = await world.workflow.give_reason(proposal_id, world.sender("ben"), "wrong amount")

    assert reply.done
    assert (await world.proposal(proposal_id)).explanation == "wrong amount"
    assert await problems(world) == []


async def test_words_that_come_while_it_is_still_being_taken_back_are_kept(
    world: World, mail: str
) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["roll_back"] = waiting_for(gate)
    await world.workflow.reject(mail, world.sender("ben"), card=CardPlace("terminal", f"m-{mail}"))

    reply = await world.workflow.give_reason(mail, world.sender("ben"), "wrong amount")
    assert await problems(world) == []
    gate.set()
    await world.workflow.idle()

    ended = await world.proposal(mail)
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert reply.done
    assert ended.explanation == "wrong amount"
    assert [m.body["explanation"] for m in told if m.kind == "ended"] == ["wrong amount"]


async def test_a_tool_that_failed_all_the_same_is_told_at_once(world: World) -> None:
    gate = asyncio.Event()
    failing = raising(ToolFailed("no"))

    async def fails(call):  # type: ignore[no-untyped-def]
        await gate.wait()
        return await failing(call)

    world.tool(SEND).on["execute"] = fails
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    place = CardPlace("terminal", f"m-{proposal_id}")
    await world.workflow.reject(proposal_id, world.sender("ben"), card=place)
    gate.set()
    await world.workflow.idle()

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [m.body["reason"] for m in told if m.kind == "ended"] == ["tool_failed"]


async def test_a_cross_does_not_wait_until_other_people_have_been_asked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = (await world.submits(MAIL, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    asked: list[set[str]] = []

    async def lost(people: Iterable[str], *, only_certain: bool) -> frozenset[str]:
        assert only_certain
        asked.append(set(people))
        return frozenset()

    monkeypatch.setattr(world.notifier, "lost_members", lost)
    await world.rejects("ben", proposal_id)

    assert asked == [{"ben"}]


async def test_a_reply_on_the_chat_gives_the_reason_of_a_cross_that_is_kept(
    world: World, mail: str
) -> None:
    await unknown_commit(world, mail)
    place = CardPlace("terminal", f"m-{mail}")
    await world.workflow.reject(mail, world.sender("ben"), card=place)

    incoming = Incoming(world.workflow, "terminal")
    talk = await incoming.replied(world.sender("ana"), f"m-{mail}", "what happened?")
    reply = await incoming.replied(world.sender("ben"), f"m-{mail}", "wrong amount")

    assert talk is None
    assert reply is not None
    assert reply.words == "Your reason is passed on."
    assert await problems(world) == []
    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    await world.workflow.idle()
    assert (await world.proposal(mail)).explanation == "wrong amount"
