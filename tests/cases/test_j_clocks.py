"""Cases J05 and J12: clocks that are set, hours that come twice, machines that sleep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.chat.showing.broadcast import Broadcast
from bot.clocks.clock import SystemClock
from bot.clocks.strayed import clock_strayed
from bot.jobs import tell_clock
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS
from tests.stage import in_memory
from tests.world import World

MINUTE_NS = 60_000_000_000


async def opens_a_window(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")


async def state_of(world: World) -> State:
    return (await world.proposal("p1")).state


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    """A process whose local time is New York's."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield ZoneInfo("America/New_York")
    monkeypatch.undo()
    time.tzset()


class Boot:
    """A machine: the wall clock as somebody sets it, and what has really passed."""

    def __init__(self, at_ms: int) -> None:
        self.wall_ns = at_ms * 1_000_000
        self.passed_ns = 77 * MINUTE_NS

    def passes(self, minutes: float) -> None:
        self.wall_ns += round(minutes * MINUTE_NS)
        self.passed_ns += round(minutes * MINUTE_NS)

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall_ns, lambda: self.passed_ns)


async def on(machine: Boot, world: World) -> None:
    """Let the law live by this machine's clock."""
    clock = machine.clock()
    world.workflow.world.clock = clock
    world.clock = clock  # type: ignore[assignment]


@pytest.mark.parametrize(
    "local", [(2026, 3, 8, 1, 50), (2026, 11, 1, 1, 50)], ids=["spring", "autumn"]
)
async def test_J05_a_change_of_local_time_neither_skips_nor_repeats_anything(
    tmp_path: Path, new_york: ZoneInfo, local: tuple[int, int, int, int, int]
) -> None:
    begins = datetime(*local, tzinfo=new_york).astimezone(UTC)
    machine = Boot(round(begins.timestamp() * 1000))
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await opens_a_window(world)
        machine.passes(15 - 1 / 60_000)
        await world.keeps_house()
        assert await state_of(world) is State.EXECUTING
        machine.passes(1 / 60_000)
        await world.keeps_house()

        ended = await world.proposal("p1")
        assert ended.state is State.COMPLETED
        execution = ended.execution
        assert execution is not None
        opened, closes = execution.window_opens_at_ms, execution.window_closes_at_ms
        assert (closes or 0) - (opens_ms := opened or 0) == 900_000
        assert opens_ms == round(begins.timestamp() * 1000)


@pytest.mark.parametrize("set_to", [-60, 60, -24 * 60])
async def test_J12_setting_the_wall_clock_moves_no_window(tmp_path: Path, set_to: int) -> None:
    machine = Boot(NOW_MS)
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await opens_a_window(world)
        machine.passes(5)
        machine.wall_ns += set_to * MINUTE_NS
        machine.passes(9.9)
        await world.keeps_house()
        assert await state_of(world) is State.EXECUTING
        machine.passes(0.1)
        await world.keeps_house()

        assert await state_of(world) is State.COMPLETED


@pytest.mark.parametrize("set_to", [-60, 60])
async def test_J12_people_are_told_once_that_the_machines_clock_is_another_one(
    tmp_path: Path, set_to: int
) -> None:
    machine = Boot(NOW_MS)
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await tell_clock.run_once(world.workflow)
        assert (clock_strayed(world.clock), await told(world)) == (None, [])
        machine.wall_ns += set_to * MINUTE_NS
        for _ in range(3):
            machine.passes(5)
            await tell_clock.run_once(world.workflow)

        (words,) = await told(world)
        assert f"The machine's clock says 2026-03-02 {12 + set_to // 60}:05:00 UTC" in words
        assert "the bot counts 2026-03-02 12:05:00 UTC" in words
        assert "restart the bot" in words
        assert ("keeps its time over a restart of the bot" in words) is (set_to > 0)
        machine.passes(24 * 60)
        await tell_clock.run_once(world.workflow)
        assert len(await told(world)) == 2


async def told(world: World) -> list[str]:
    """Return what was announced of the clock."""
    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [str(m.body["text"]) for m in waiting if m.key.startswith("clock:")]


async def test_J12_a_virtual_machine_that_stood_still_closes_nothing_early_and_says_so(
    tmp_path: Path,
) -> None:
    machine = Boot(NOW_MS)
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await opens_a_window(world)
        machine.wall_ns += 35 * MINUTE_NS  # what the host knows, and no clock of the machine does
        await world.keeps_house()
        assert await state_of(world) is State.EXECUTING
        broadcast = Broadcast([])
        broadcast.attach(world.workflow.world)
        assert "The machine's clock says" in "".join(broadcast.health())
        refused = await world.submits(MAIL, ts_ms=machine.wall_ns // 1_000_000)
        assert [fault.code for fault in refused.errors] == ["implausible_time"]
        machine.passes(15)
        await world.keeps_house()

        assert await state_of(world) is State.COMPLETED


async def test_J12_a_machine_that_slept_closes_at_once_and_says_how_late(tmp_path: Path) -> None:
    machine = Boot(NOW_MS)
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await opens_a_window(world)
        machine.passes(5)
        machine.passes(35)
        await world.keeps_house()

        ended = await world.proposal("p1")
        assert ended.state is State.COMPLETED
        assert "Closed late, 25 min" in ended.explanation
