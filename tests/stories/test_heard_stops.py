"""While a stop that was heard waits to be worked, nothing that it may be of is made final."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.freezing import FLAG as FREEZE
from lifecycle.heard import HEARD, OVERDUE_MS, UNPLACED_MS, HeardStop, kept_stops, note
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.stops.spooling import held_words
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
WINDOW_S = 900


async def heard(
    world: World, proposal_id: str | None = "p1", message_id: str | None = None, key: str = "e1"
) -> HeardStop:
    """Let a stop be taken into an inbox, as a platform's client does."""
    ours = world.workflow.world
    stop = HeardStop(f"slack:{key}", "slack", world.clock.now_ms(), proposal_id, message_id)
    ours.heard.add(stop)
    placed = await world.store.write(lambda tx: note(tx, stop))
    ours.heard.add(placed)
    return placed


async def in_window(world: World) -> None:
    await world.submits(MAIL)
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).state is State.EXECUTING


async def state(world: World) -> State:
    return (await world.proposal("p1")).state


async def test_a_window_does_not_close_over_a_stop_that_waits_to_be_worked(world: World) -> None:
    await in_window(world)
    stop = await heard(world)
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.EXECUTING
    assert world.tool(SEND).verbs() == ["execute"]
    assert held_words(world.workflow.world) == "Held, until a stop can be carried out: p1"

    assert (await world.rejects("ben", "p1")).done
    world.workflow.world.heard.drop(stop.key)
    await world.keeps_house()
    assert await state(world) is State.ROLLED_BACK


async def test_a_window_closes_once_the_stop_is_found_to_be_nobodys(world: World) -> None:
    await in_window(world)
    stop = await heard(world)
    await world.passes(seconds=WINDOW_S + 1)
    world.workflow.world.heard.drop(stop.key)
    await world.passes(seconds=3)
    assert await state(world) is State.COMPLETED


async def test_nothing_begins_over_a_stop_that_waits_and_the_approval_is_kept(world: World) -> None:
    await world.submits(PROD)
    stop = await heard(world)
    reply = await world.approves("ana", "p1")
    assert reply.done
    assert HEARD in reply.words
    await world.keeps_house()
    assert world.tool(DEPLOY).verbs() == []
    assert await state(world) is State.SENTINEL_APPROVED

    world.workflow.world.heard.drop(stop.key)
    await world.passes(seconds=6)
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_nothing_completes_early_over_a_stop_that_waits(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL)
    await world.keeps_house()
    await heard(world)
    reply = await world.approves("ana", "p1")
    assert not reply.done
    assert await state(world) is State.EXECUTING


async def test_a_stop_of_one_proposal_holds_no_other(world: World) -> None:
    await in_window(world)
    await heard(world, "p2")
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.COMPLETED


async def test_a_freeze_that_waits_holds_everything(world: World) -> None:
    await in_window(world)
    await world.submits(PROD)
    await heard(world, None)
    await world.approves("ana", "p2")
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.EXECUTING
    assert world.tool(DEPLOY).verbs() == []


async def test_a_freeze_that_nobody_can_work_is_let_go_of_by_a_thaw_and_not_at_once(
    world: World,
) -> None:
    await in_window(world)
    await heard(world, None)
    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.EXECUTING

    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.passes(seconds=61)
    assert await state(world) is State.COMPLETED
    assert await world.store.read(kept_stops) == []
    assert not await world.store.read(lambda tx: tx.flags.get(FREEZE))


async def test_a_stop_on_what_may_yet_become_a_card_holds_everything_for_a_moment_alone(
    world: World,
) -> None:
    await in_window(world)
    world.clock.advance(WINDOW_S - 1)
    await heard(world, None, "no card")
    await world.passes(seconds=2)
    assert await state(world) is State.EXECUTING
    await world.passes(seconds=9)
    assert await state(world) is State.COMPLETED


@pytest.mark.parametrize("waited_ms", [0, UNPLACED_MS + 1])
async def test_a_stop_on_what_became_a_card_holds_its_proposal_alone_and_as_long_as_it_waits(
    world: World, waited_ms: int
) -> None:
    await world.submits(MAIL, proposal_id="p1")
    await world.submits(PROD, proposal_id="p2")
    now_ms = world.clock.now_ms()
    stops = world.workflow.world.heard
    stops.add(HeardStop("terminal:e1", "terminal", now_ms, None, "m-p1"))

    held = await world.store.read(
        lambda tx: [stops.hold(tx, now_ms + waited_ms, p, begun=False) for p in ("p1", "p2")]
    )

    assert held == [True, False]


async def test_a_stop_on_a_card_is_known_to_be_of_its_proposal(world: World) -> None:
    await in_window(world)
    stop = HeardStop("terminal:e1", "terminal", world.clock.now_ms(), None, "m-p1")
    placed = await world.store.write(lambda tx: note(tx, stop))
    assert placed.proposal_id == "p1"


async def test_what_is_known_of_a_stop_stays_known_when_it_is_told_of_again(world: World) -> None:
    """Half of it was left behind when it was worked: nothing else could let go of that."""
    await in_window(world)
    stops, now_ms = world.workflow.world.heard, world.clock.now_ms()
    stop = HeardStop("terminal:e1", "terminal", now_ms, None, "m-p1")
    stops.add(stop)
    await world.workflow.recover()
    assert not stops.add(replace(stop, at_ms=now_ms + 5_000))
    assert stops.of("p1") == (replace(stop, proposal_id="p1"),)

    stops.drop(stop.key)
    assert stops.ids() == frozenset()
    assert stops.overdue(now_ms + OVERDUE_MS, "p1") == ()


@pytest.mark.parametrize("steps", range(6))
async def test_a_stop_that_was_worked_while_it_was_placed_holds_nothing_any_more(
    world: World, steps: int
) -> None:
    await in_window(world)
    stops = world.workflow.world.heard
    stop = HeardStop("terminal:e1", "terminal", world.clock.now_ms(), None, "m-p1")
    stops.add(stop)

    placing = asyncio.create_task(world.workflow.recover())
    for _ in range(steps):
        await asyncio.sleep(0)
    stops.drop(stop.key)
    await placing

    assert stops.of("p1") == ()


async def test_what_a_former_process_took_and_did_not_work_holds_after_the_start(
    world: World,
) -> None:
    await in_window(world)
    await heard(world)
    await world.restarts()
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.EXECUTING


async def waits_for_good(world: World) -> None:
    """Let the window end over a stop that nobody works, and a minute and more pass."""
    await in_window(world)
    await heard(world)
    world.clock.advance(WINDOW_S)
    for _ in range(100):
        await world.passes(seconds=1)


async def test_people_are_called_to_a_stop_that_nobody_can_work(world: World) -> None:
    await waits_for_good(world)
    called = await world.proposal("p1")
    assert called.state is State.EXECUTING
    assert called.attention is Attention.OVERDUE
    assert HEARD in called.attention_why


@pytest.mark.parametrize("words", ["retry", "roll back"])
async def test_a_person_decides_over_a_stop_that_nobody_can_work(world: World, words: str) -> None:
    await waits_for_good(world)
    if words == "retry":
        assert (await world.workflow.retry("p1", world.sender("ana"))).done
        assert "stop_let_go" in await world.trail("p1")
        assert await world.store.read(kept_stops) == []
    else:
        assert (await world.rejects("ben", "p1")).done
    await world.passes(seconds=61)
    ended = State.COMPLETED if words == "retry" else State.ROLLED_BACK
    assert await state(world) is ended


async def test_a_stop_that_is_just_being_worked_is_let_go_of_by_nobody(world: World) -> None:
    await in_window(world)
    await heard(world)
    reply = await world.workflow.retry("p1", world.sender("ana"))
    assert reply.code == "nothing_to_settle"
    await world.passes(seconds=WINDOW_S + 1)
    assert await state(world) is State.EXECUTING


async def test_only_a_reviewer_lets_go_of_a_stop(world: World) -> None:
    await waits_for_good(world)
    reply = await world.workflow.retry("p1", world.sender("cal"))
    assert reply.code == "not_a_reviewer"
    await world.passes(seconds=61)
    assert await state(world) is State.EXECUTING
