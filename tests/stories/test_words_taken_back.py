"""A ✅ that was taken off, and waits to be worked, holds what it may have led to, and no window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.freezing import FROZEN
from lifecycle.heard import HEARD, kept_stops
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.stories.hearing import SEND, WINDOW_S, cut_off, heard
from tests.world import World

DEPLOY = "production-deploy"


async def taken_off(world: World, **of_what: str) -> None:
    """Let a ✅ that was taken off be taken into an inbox that does not come to it."""
    await heard(world, "slack", takes_back=True, **of_what)


async def in_window(world: World, base: Mapping[str, Any] = MAIL) -> None:
    await world.submits(base)
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).state is State.EXECUTING


async def state(world: World) -> State:
    return (await world.proposal("p1")).state


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("of_what", [{"proposal_id": "p1"}, {"message_id": "not written down"}])
async def test_a_window_closes_over_an_approval_that_was_taken_off(
    world: World, of_what: dict[str, str], restarted: bool
) -> None:
    await in_window(world)
    world.clock.advance(WINDOW_S - 1)
    await taken_off(world, **of_what)
    if restarted:
        await world.restarts()
    await world.passes(seconds=2)
    assert await state(world) is State.COMPLETED


async def test_nobody_is_called_to_an_approval_that_was_taken_off_within_a_window(
    world: World,
) -> None:
    await in_window(world)
    await taken_off(world, proposal_id="p1")
    world.notifier.readable = False
    world.clock.advance(WINDOW_S)
    for _ in range(100):
        await world.passes(seconds=1)
    called = await world.proposal("p1")
    assert HEARD not in called.attention_why


async def test_what_was_cut_off_is_called_again_over_an_approval_that_was_taken_off(
    world: World,
) -> None:
    await cut_off(world)
    await taken_off(world, proposal_id="p1")
    del world.tool(SEND).on["execute"]
    await world.restarts()
    await world.passes(seconds=1)
    assert world.tool(SEND).verbs() == ["execute", "execute"]


async def test_nothing_begins_over_an_approval_that_was_taken_off(world: World) -> None:
    await world.submits(PROD)
    await taken_off(world, proposal_id="p1")
    reply = await world.approves("ana", "p1")
    assert reply.done
    assert HEARD in reply.words
    await world.keeps_house()
    assert world.tool(DEPLOY).verbs() == []


async def test_nothing_completes_early_over_an_approval_that_was_taken_off(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL)
    await world.keeps_house()
    await taken_off(world, proposal_id="p1")
    reply = await world.approves("ana", "p1")
    assert reply.code == "frozen"
    assert await state(world) is State.EXECUTING


async def test_an_approval_that_was_taken_off_is_kept_as_what_it_is(world: World) -> None:
    await world.submits(PROD)
    await taken_off(world, proposal_id="p1")
    (kept,) = await world.store.read(kept_stops)
    assert kept.takes_back


@pytest.mark.parametrize(("who", "done"), [("ben", True), ("cal", False), ("a stranger", False)])
async def test_what_waits_does_not_wait_for_the_word_that_was_just_taken_back(
    world: World, who: str, done: bool
) -> None:
    await world.workflow.freeze("a storm", world.sender("ana"))
    await world.submits(PROD)
    await world.approves("ana", "p1")
    await world.approves("ben", "p1")
    before = await world.trail("p1")

    reply = await world.workflow.take_back("p1", world.sender(who))
    await world.keeps_house()

    assert reply.done is done
    assert HEARD not in reply.words
    assert (await world.proposal("p1")).waiting_for == FROZEN
    written = (await world.trail("p1"))[len(before) :]
    assert written == (["approval_taken_back", "quorum_counted"] if done else ["ignored"])
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()
    assert world.tool(DEPLOY).verbs() == ["execute"]
