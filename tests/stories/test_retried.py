"""Who has something called again stands in the trail, and nobody else in that one's place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.ports import ToolDoubtful
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising, waiting_for
from tests.stories.doubtful import DEPLOY, SEND, dies_while
from tests.world import World


async def named(world: World, kind: str) -> list[tuple[str, str | None, Mapping[str, Any]]]:
    """Return who the entries of a kind name, on which surface, with which details."""
    entries = await world.audit(kind)
    return [(each["actor"]["id"], each["surface"], each["details"]) for each in entries]


@pytest.mark.parametrize("verb", ["execute", "commit", "roll_back"])
async def test_a_retry_is_told_in_the_name_of_who_asked_for_it(world: World, verb: str) -> None:
    world.tool(SEND).on[verb] = raising(ToolDoubtful("cut off"))
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    if verb == "roll_back":
        await world.rejects("ana", mail)
    if verb == "commit":
        await world.passes(minutes=16)

    await world.workflow.retry(mail, world.sender("ben", event_id="m17"))
    await world.workflow.idle()

    [(person, surface, details)] = await named(world, "retried")
    assert (person, surface, details) == ("ben", "terminal", {"verb": verb, "attempt": 2})
    [entry] = await world.audit("retried")
    assert entry["event_id"] == "m17"
    assert [name for name, _, _ in await named(world, "called_again")] == [
        {"execute": "ben", "commit": "clock", "roll_back": "ana"}[verb]
    ]


async def test_nothing_is_tried_again_while_its_tool_is_at_work(world: World) -> None:
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    await world.submits(MAIL, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))

    reply = await world.workflow.retry("p1", world.sender("ben"))
    gate.set()
    await world.workflow.idle()

    assert reply.code == "still_running"
    assert world.tool(SEND).verbs() == ["execute"]


async def test_a_window_that_a_retry_begins_anew_is_as_long_as_ever(world: World) -> None:
    world.tool(SEND).on["execute"] = raising(ToolDoubtful("cut off"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=20)

    del world.tool(SEND).on["execute"]  # now it answers
    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()

    execution = (await world.proposal("p1")).execution
    assert execution is not None
    now_ms = world.clock.now_ms()
    window = (execution.window_opens_at_ms, execution.window_closes_at_ms)
    assert window == (now_ms, now_ms + 900_000)
    assert (execution.attempt, execution.tries) == (2, 1)


async def test_what_is_called_again_after_a_crash_is_nobodys_retry(world: World) -> None:
    await dies_while(world, DEPLOY, PROD)
    del world.tool(DEPLOY).on["execute"]  # which hung: now it answers

    await world.restarts()

    assert [name for name, _, _ in await named(world, "called_again")] == ["clock"]
    assert await named(world, "retried") == []
