"""Case J12 over a restart: a wall clock that was set meanwhile takes no time away (ADR 0022)."""

from __future__ import annotations

import pytest

from bot.jobs import tell_clock
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, PROD, REFUND
from tests.cases.machine import (
    HOUR,
    MINUTE_MS,
    Machine,
    a_machine,
    closes_at_ms,
    moved,
    opens,
    state_of,
    status,
    told,
)
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.world import World

DAY_MS = 24 * HOUR * MINUTE_MS


@pytest.fixture
async def machine(world: World) -> Machine:
    """A machine on which the bot runs for the first time."""
    return await a_machine(world)


@pytest.mark.parametrize("down", [False, True], ids=["while it ran", "while it was down"])
async def test_J12_a_window_keeps_its_minutes_over_a_restart_by_a_clock_set_forward(
    machine: Machine, world: World, down: bool
) -> None:
    await opens(world)
    await machine.passes(1)
    if down:
        await world.workflow.shut_down(1)
    machine.is_set(55)
    await machine.passes(0) if not down else None
    await machine.starts()
    await machine.passes(13.9)
    assert await state_of(world) is State.EXECUTING
    assert world.tool("send-email").verbs() == ["execute"]
    await machine.passes(0.1)

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert ended.explanation == "Nobody objected before the window closed."
    assert world.tool("send-email").verbs() == ["execute", "commit"]
    assert await problems(world) == []


async def test_people_are_told_once_what_was_moved_and_status_says_so_for_a_day(
    machine: Machine, world: World
) -> None:
    await opens(world)
    await world.submits(PROD, proposal_id="p2")
    machine.is_set(55)
    for _ in range(3):
        await machine.starts()

    (words,) = await told(world)
    assert "was set forward by 55 min" in words
    assert "1 window and 1 deadline moved along" in words
    assert words in await status(world)
    assert sorted(await moved(world)) == ["p1", "p2"]
    assert await closes_at_ms(world) == NOW_MS + (55 + 15) * MINUTE_MS
    await machine.passes(25 * HOUR)
    assert words not in await status(world)


async def test_a_deadline_of_ours_moves_and_nothing_that_others_named(
    machine: Machine, world: World
) -> None:
    window = {"valid_from_ms": NOW_MS, "valid_until_ms": NOW_MS + DAY_MS, "max_duration_ms": 1000}
    await world.submits(PROD, proposal_id="ours")
    await world.submits(PROD, proposal_id="named", time_window=window, parameters={"v": "2"})
    await world.submits(REFUND, proposal_id="permitted")
    await world.approves("ana", "permitted")
    before = await world.proposal("permitted")
    assert before.permit_waits
    machine.is_set(30)
    await machine.starts()

    assert await moved(world) == ["ours"]
    assert (await world.proposal("ours")).deadline_ms == NOW_MS + DAY_MS + 30 * MINUTE_MS
    assert (await world.proposal("named")).deadline_ms == NOW_MS + DAY_MS
    assert (await world.proposal("permitted")).deadline_ms == before.deadline_ms
    assert await problems(world) == []


async def test_an_approval_given_before_still_counts_where_its_deadline_moved(
    machine: Machine, world: World
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.approves("ana", "p1")
    await machine.passes(10)
    machine.is_set(91 * 24 * HOUR)  # the board had no clock
    await machine.starts()
    await machine.passes(1)
    await world.approves("ben", "p1")

    assert await state_of(world) is State.COMPLETED
    assert "set forward by 91 days" in (await told(world))[0]
    assert await problems(world) == []


@pytest.mark.parametrize("minutes", [0, 0.9, -0.9, -HOUR])
async def test_nothing_moves_by_less_than_a_minute_nor_backwards(
    machine: Machine, world: World, minutes: float
) -> None:
    await opens(world)
    machine.is_set(minutes)
    await machine.passes(5)  # the machine slept, which its boot clock counts
    await machine.starts()

    assert (await moved(world), await told(world)) == ([], [])
    assert await closes_at_ms(world) == NOW_MS + 15 * MINUTE_MS


async def test_small_corrections_do_not_add_up(machine: Machine, world: World) -> None:
    await opens(world)
    for _ in range(2):
        machine.is_set(0.7)
        await machine.starts()

    assert await closes_at_ms(world) == NOW_MS + round((15 + 1.4) * MINUTE_MS)
    assert await problems(world) == []


@pytest.mark.parametrize(
    ("before", "after"), [("boot 1", "boot 2"), ("", ""), ("boot 1", ""), ("", "boot 1")]
)
async def test_what_another_boot_reckoned_stays_as_it_is(
    machine: Machine, world: World, before: str, after: str
) -> None:
    machine.reboots(before)
    await machine.starts()
    await opens(world)
    machine.is_set(55)
    machine.reboots(after)
    await machine.starts()

    assert (await moved(world), await told(world)) == ([], [])
    await machine.passes(0)
    assert await state_of(world) is State.COMPLETED


async def test_a_clock_that_was_lost_and_found_moves_what_was_opened_by_it_alone(
    machine: Machine, world: World
) -> None:
    """A board without a clock is started anew; until it reaches a time server it lives in May."""
    await opens(world, "before")
    await machine.passes(2)
    machine.reboots()
    machine.is_set(-300 * 24 * HOUR)
    await machine.starts()
    await opens(world, "meanwhile")
    await machine.passes(3)
    machine.is_set(300 * 24 * HOUR)
    await machine.starts()

    assert await moved(world) == ["meanwhile"]
    await machine.passes(10)
    assert await state_of(world, "before") is State.COMPLETED
    await machine.passes(1.9)
    assert await state_of(world, "meanwhile") is State.EXECUTING
    await machine.passes(0.1)
    assert await state_of(world, "meanwhile") is State.COMPLETED
    assert await problems(world) == []


async def test_people_are_told_that_the_clock_was_lost_and_windows_wait(
    machine: Machine, world: World
) -> None:
    await opens(world)
    await tell_clock.run_once(world.workflow)
    assert await told(world, "clock:") == []
    machine.reboots()
    machine.is_set(-HOUR)
    await machine.starts()
    for _ in range(2):
        await tell_clock.run_once(world.workflow)
        await machine.passes(20)

    (words,) = await told(world, "clock:")
    assert "The clock says 2026-03-02 11:00:00 UTC" in words
    assert "the trail has an entry of 2026-03-02 12:00:00 UTC already" in words
    assert await state_of(world) is State.EXECUTING


async def test_each_window_moves_by_what_was_set_since_it_was_opened(
    machine: Machine, world: World
) -> None:
    await opens(world, "p1")
    machine.is_set(20)
    await machine.starts()
    await opens(world, "p2")
    machine.is_set(-30)  # back, and too far
    await machine.starts()
    await opens(world, "p3")
    machine.is_set(40)
    await machine.starts()

    for proposal_id in ("p1", "p2", "p3"):
        assert await closes_at_ms(world, proposal_id) == NOW_MS + (30 + 15) * MINUTE_MS
    await machine.passes(15)
    assert {await state_of(world, each) for each in ("p1", "p2", "p3")} == {State.COMPLETED}
    assert await problems(world) == []


async def test_a_window_that_a_person_opens_anew_is_of_the_clock_by_then(
    machine: Machine, world: World
) -> None:
    world.tool("send-email").on["execute"] = raising(OSError("the line was cut"))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    machine.is_set(55)
    await machine.starts()
    await world.workflow.settle("p1", world.sender("ana"), happened=True)
    machine.is_set(10)
    await machine.starts()

    assert await closes_at_ms(world) == machine.wall_ms + 15 * MINUTE_MS
    assert await problems(world) == []


async def test_what_was_frozen_stays_frozen_and_a_cross_still_takes_back(
    machine: Machine, world: World
) -> None:
    await opens(world)
    await world.workflow.freeze("look", world.sender("ana"))
    machine.is_set(55)
    await machine.starts()
    await machine.passes(20)
    assert await state_of(world) is State.EXECUTING
    await world.reacts("ana", "p1", "❌")

    assert await state_of(world) is State.ROLLED_BACK
    assert await problems(world) == []
