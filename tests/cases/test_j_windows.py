"""Cases J01 to J03, J05, J08, J12 and J13: a window lasts what it lasts, and closes once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.chat.card import card_of
from bot.chat.card_facts import Beside
from bot.clock import SystemClock
from bot.jobs.job import Job
from bot.jobs.scheduler import Scheduler
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, NOW_MS
from tests.stage import in_memory
from tests.world import World

MINUTE_NS = 60_000_000_000
SEND = "send-email"


async def opens(world: World, proposal_id: str = "p1", to: str = "pat@partner.example") -> None:
    parameters = MAIL["parameters"] | {"to": to}
    await world.submits(MAIL, proposal_id=proposal_id, parameters=parameters)
    await world.approves("ana", proposal_id)


async def state_of(world: World, proposal_id: str = "p1") -> State:
    return (await world.proposal(proposal_id)).state


async def test_J01_a_window_that_passed_while_we_were_down_closes_once_and_says_how_late(
    world: World,
) -> None:
    await opens(world)
    world.clock.advance(35 * 60)
    await world.restarts()
    await world.keeps_house()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert "Closed late, 20 min" in ended.explanation
    await world.restarts()
    await world.keeps_house()
    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.trail("p1")).count("complete") == 1


async def test_J02_after_a_restart_each_window_closes_at_its_own_time(world: World) -> None:
    await opens(world, "p1")
    world.clock.advance(14 * 60)
    await opens(world, "p2", "sam@partner.example")
    world.clock.advance(11 * 60)
    await world.restarts()
    await world.keeps_house()
    assert await state_of(world, "p1") is State.COMPLETED
    assert "Closed late, 10 min" in (await world.proposal("p1")).explanation
    assert await state_of(world, "p2") is State.EXECUTING

    await world.passes(minutes=3, seconds=59)
    assert await state_of(world, "p2") is State.EXECUTING
    await world.passes(seconds=1)

    assert await state_of(world, "p2") is State.COMPLETED
    assert "late" not in (await world.proposal("p2")).explanation


async def test_J03_a_loop_that_was_busy_over_the_due_time_closes_as_soon_as_it_is_free() -> None:
    begun: list[float] = []
    ran = asyncio.Event()

    async def note(_workflow: object) -> int:
        begun.append(time.monotonic())
        ran.set()
        return 0

    scheduler = Scheduler([Job("close_windows", 1, note)], object(), SystemClock())  # type: ignore[arg-type]
    scheduler.start()
    await asyncio.sleep(0)
    time.sleep(2.5)  # noqa: ASYNC251 - that the loop is blocked is what this is about
    free = time.monotonic()
    async with asyncio.timeout(10):
        await ran.wait()
    await scheduler.stop(1)

    assert begun[0] - free < 1.5


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
        await opens(world)
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
        await opens(world)
        machine.passes(5)
        machine.wall_ns += set_to * MINUTE_NS
        machine.passes(9.9)
        await world.keeps_house()
        assert await state_of(world) is State.EXECUTING
        machine.passes(0.1)
        await world.keeps_house()

        assert await state_of(world) is State.COMPLETED


async def test_J12_a_machine_that_slept_closes_at_once_and_says_how_late(tmp_path: Path) -> None:
    machine = Boot(NOW_MS)
    async with in_memory(tmp_path) as world:
        await on(machine, world)
        await opens(world)
        machine.passes(5)
        machine.passes(35)
        await world.keeps_house()

        ended = await world.proposal("p1")
        assert ended.state is State.COMPLETED
        assert "Closed late, 25 min" in ended.explanation


async def test_J08_a_closing_that_finds_it_taken_back_does_nothing(world: World) -> None:
    await opens(world)
    world.clock.advance(900)
    picked = await world.proposal("p1")
    await world.rejects("ben", "p1")
    again = await world.rejects("ben", "p1")

    await world.workflow.keeper._close_batch([picked])
    await world.passes(minutes=1)

    assert again.code == "already_decided"
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert await state_of(world) is State.ROLLED_BACK


async def test_J08_a_closing_that_finds_it_completed_by_hand_does_nothing(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL, proposal_id="p1")
    picked = await world.proposal("p1")
    await world.approves("ana", "p1")
    world.clock.advance(900)

    await world.workflow.keeper._close_batch([picked])
    await world.passes(minutes=1)

    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (await world.proposal("p1")).reason == "approved_early"


async def test_J13_one_absolute_end_is_stored_shown_and_kept(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1")
    world.clock.advance(7 * 60)
    await world.workflow.freeze("look first", world.sender("ana"))
    await world.approves("ana", "p1")
    world.clock.advance(60)
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    mail = await world.proposal("p1")
    assert mail.execution is not None
    assert mail.execution.window_closes_at_ms == NOW_MS + 23 * 60_000
    card = card_of(mail, Beside(world.workflow.policy, world.clock.now_ms(), ()))
    shown = [str(fact) for fact in card.facts if "12:23" in str(fact)]
    assert shown
    assert "UTC" in shown[0]
    assert not any("12:15" in str(fact) or "12:22" in str(fact) for fact in card.facts)
