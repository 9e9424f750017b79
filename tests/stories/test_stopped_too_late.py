"""A ❌ over a commit of which nobody knows whether it happened: what is promised is what comes."""

from __future__ import annotations

import pytest

from bot.trail import verified_in
from lifecycle.answers import Reply
from lifecycle.clockwork.restored import bring_back
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import raising
from tests.world import World

SEND = "send-email"


async def unknown_commit(world: World) -> None:
    """Let nobody know whether a mail was sent when its window closed."""
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    await world.submits(MAIL, proposal_id="m")
    await world.approves("ana", "m")
    await world.passes(minutes=16)


async def brought_back_in_its_window(world: World) -> None:
    """Let nobody know whether a mail was sent since a copy was made."""
    await world.submits(MAIL, proposal_id="m")
    await world.approves("ana", "m")
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.restarts()


@pytest.fixture(params=[unknown_commit, brought_back_in_its_window])
async def doubtful(request: pytest.FixtureRequest, world: World) -> World:
    await request.param(world)
    assert (await world.proposal("m")).attention is Attention.OUTCOME_UNKNOWN
    return world


async def settled(world: World, *, happened: bool) -> None:
    assert (await world.workflow.settle("m", world.sender("ana"), happened=happened)).done
    await world.workflow.idle()
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def announced(world: World) -> list[str]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [message.body["text"] for message in told if message.kind == "announcement"]


def promises_no_more_than_it_keeps(reply: Reply) -> bool:
    both = "If it was not, it is taken back; if it was, it stays" in reply.words
    return both and "settle m happened | did-not-happen" in reply.words


async def test_who_stops_it_is_told_that_it_may_stay_and_then_that_it_does(
    doubtful: World,
) -> None:
    reply = await doubtful.rejects("ben", "m", "do not send that")
    assert reply.done
    assert promises_no_more_than_it_keeps(reply)

    await settled(doubtful, happened=True)
    words = "The ❌ by ben came too late: ana found that it had happened before."
    assert f"m ({SEND}) is not taken back. {words}" in await announced(doubtful)
    sent = await doubtful.proposal("m")
    assert (sent.state, sent.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert sent.explanation.endswith(words)
    assert "roll_back" not in doubtful.tool(SEND).verbs()


async def test_everybody_whose_stop_came_too_late_is_named_once(doubtful: World) -> None:
    for person in ("ben", "ana", "ben"):
        assert promises_no_more_than_it_keeps(await doubtful.rejects(person, "m", "no"))
    await settled(doubtful, happened=True)
    (words,) = [each for each in await announced(doubtful) if "too late" in each]
    assert "The ❌ by ben, ana came too late" in words


async def test_what_did_not_happen_is_taken_back_as_promised(doubtful: World) -> None:
    await doubtful.rejects("ben", "m", "do not send that")
    await settled(doubtful, happened=False)
    ended = await doubtful.proposal("m")
    assert (ended.state, ended.explanation) == (State.ROLLED_BACK, "do not send that")
    assert not any("too late" in each for each in await announced(doubtful))


async def test_where_nobody_stopped_it_nobody_is_told_that_it_was_too_late(
    doubtful: World,
) -> None:
    await settled(doubtful, happened=True)
    assert not any("too late" in each for each in await announced(doubtful))
    assert "too late" not in (await doubtful.proposal("m")).explanation


async def test_what_was_executed_and_is_stopped_is_taken_back_where_it_happened(
    world: World,
) -> None:
    world.tool(SEND).on["execute"] = raising(RuntimeError("cut off"))
    await world.submits(MAIL, proposal_id="m")
    await world.approves("ana", "m")
    reply = await world.rejects("ben", "m", "no")
    assert "whether it was done is not known; if it was, it is taken back" in reply.words
    await settled(world, happened=True)
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]


async def test_a_stop_of_what_may_be_taken_back_already_says_that_nobody_knows(
    world: World,
) -> None:
    world.tool(SEND).on["roll_back"] = raising(RuntimeError("cut off"))
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    await world.rejects("ben", "p1")
    reply = await world.rejects("ana", "p1")
    assert reply.code == "already_decided"
    assert "is being rolled back" not in reply.words
    assert "settle p1 happened" in reply.words
