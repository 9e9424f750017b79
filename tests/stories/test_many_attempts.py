"""Anybody in the channel can try something hundreds of thousands of times; nothing waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from bot import views
from bot.chat.commands.listing import trail_reply
from bot.trail import _to_compare
from lifecycle.event_kinds import EventKind
from lifecycle.state import State
from lifecycle.workflow import Workflow
from tests.builders import MAIL, PROD
from tests.roads import trail_of
from tests.stories.forging import named
from tests.world import World

SEND = "send-email"
UNREADABLE = "UPDATE audit SET details = 'never parsed' WHERE kind = 'ignored'"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def attempts(world: World, proposal_id: str, count: int) -> None:
    """Let a stranger give so many ✅ and ❌ by turns."""
    workflow: Workflow = world.workflow
    for number in range(count):
        verb = workflow.approve if number % 2 else workflow.reject
        reply = await verb(proposal_id, world.sender("a stranger"))
        assert reply.code in ("not_a_reviewer", "window_closed", "already_decided")


async def test_what_a_stranger_tried_is_not_read_for_what_people_do(
    world: World, forged: Any
) -> None:
    """With 40,000 attempts on a card the ❌ of a person took two seconds of the writer's thread."""
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await attempts(world, proposal_id, 6)
    forged(UNREADABLE)
    assert (await world.approves("ana", proposal_id)).done
    await world.shows()
    assert world.tool(SEND).verbs() == ["execute"]

    assert (await world.rejects("ana", proposal_id)).done

    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK
    assert any("cannot be read" in words for words in await named(world))


async def test_a_window_closes_without_a_look_at_what_a_stranger_tried(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await attempts(world, proposal_id, 6)
    forged(UNREADABLE)

    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


async def test_verification_looks_at_attempts_too(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await attempts(world, proposal_id, 600)
    assert await named(world) == []

    forged("UPDATE audit SET digest = 'sha256:00' WHERE kind = 'ignored' AND seq > 550")

    mine = [words for words in await named(world) if "its digest is not the one" in words]
    assert mine == ["its digest is not the one of entry 551"]


async def test_of_attempts_whose_digest_is_another_verification_keeps_the_first_alone(
    world: World, forged: Any
) -> None:
    """There may be more of them than fit into memory."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await attempts(world, proposal_id, 6)
    forged("UPDATE audit SET digest = 'sha256:00' WHERE kind = 'ignored'")
    row = await world.proposal(proposal_id)

    compared = await world.store.read(lambda tx: _to_compare(tx, row))

    assert [each.event.kind for each in compared].count(EventKind.IGNORED) == 1


async def test_whoever_asks_for_a_trail_is_shown_the_newest_attempts_alone(world: World) -> None:
    """Of 345,000 the answer had 30 MB, and the bot heard nothing for nine seconds to write it."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await attempts(world, proposal_id, views.MOST_ATTEMPTS)
    entries, more = await world.store.read(lambda tx: views.trail(tx, proposal_id))
    assert (len(entries), more) == (len(await world.store.read(of(proposal_id))), False)
    assert "newest" not in trail_reply(proposal_id, entries, more=more).text

    await world.approves("ana", proposal_id)
    await attempts(world, proposal_id, 2)

    shown, more = await world.store.read(lambda tx: views.trail(tx, proposal_id))
    tried = [each for each in shown if each["kind"] == EventKind.IGNORED]
    everything = [each.as_json() for each in await world.store.read(of(proposal_id))]
    assert len(tried) == views.MOST_ATTEMPTS
    assert (tried[-1], shown[-1]) == (everything[-1], everything[-1])
    assert [each for each in everything if each not in shown] == [
        each for each in everything if each["kind"] == EventKind.IGNORED
    ][:2]
    assert shown == [each for each in everything if each in shown]
    assert "newest 100 are shown" in trail_reply(proposal_id, shown, more=more).text


def of(proposal_id: str) -> Any:
    return lambda tx: trail_of(tx, proposal_id)
