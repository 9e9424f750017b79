"""Case J12 over a restart: a wall clock that was set meanwhile takes no time away (ADR 0022)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.chat.status import status_reply
from bot.clock import SystemClock
from bot.clock_resumed import resume_clock
from bot.jobs import tell_clock
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, PROD, REFUND
from tests.by_hand import by_hand
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.world import World

MINUTE_MS = 60_000
HOUR = 60
DAY_MS = 24 * HOUR * MINUTE_MS
OF_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


class Machine:
    """A wall clock that is set now and then, and a boot clock that begins anew with each boot."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wall_ms, self.passed_ms, self.boot = NOW_MS, 77 * MINUTE_MS, "boot 1"

    async def passes(self, minutes: float) -> None:
        """Let time pass, then do what the jobs do."""
        self.wall_ms += round(minutes * MINUTE_MS)
        self.passed_ms += round(minutes * MINUTE_MS)
        await self.world.keeps_house()

    def is_set(self, minutes: float) -> None:
        self.wall_ms += round(minutes * MINUTE_MS)

    def reboots(self, boot: str = "boot 2") -> None:
        self.boot, self.passed_ms = boot, 10_000

    async def starts(self) -> None:
        """Begin a new process over the same store, by a clock of its own."""
        clock = SystemClock(lambda: self.wall_ms * 1_000_000, lambda: self.passed_ms * 1_000_000)
        self.world.clock = clock  # type: ignore[assignment]
        self.world.workflow.world.clock = clock
        await resume_clock(self.world.workflow.world, self.boot)
        await self.world.restarts()


@pytest.fixture
async def machine(world: World) -> Machine:
    """A machine on which the bot runs for the first time."""
    machine = Machine(world)
    await machine.starts()
    return machine


async def opens(world: World, proposal_id: str = "p1", **changes: Any) -> None:
    parameters = MAIL["parameters"] | {"subject": f"Invoice {proposal_id}"}
    await world.submits(MAIL, proposal_id=proposal_id, parameters=parameters, **changes)
    await world.approves("ana", proposal_id)
    assert await state_of(world, proposal_id) is State.EXECUTING


async def state_of(world: World, proposal_id: str = "p1") -> State:
    return (await world.proposal(proposal_id)).state


async def closes_at_ms(world: World, proposal_id: str = "p1") -> int:
    execution = (await world.proposal(proposal_id)).execution
    assert execution is not None
    return execution.window_closes_at_ms or 0


async def told(world: World, about: str = "clock_moved:") -> list[str]:
    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [str(m.body["text"]) for m in waiting if m.key.startswith(about)]


async def moved(world: World) -> list[Any]:
    return [entry["proposal_id"] for entry in await world.audit("moved_along")]


async def status(world: World) -> str:
    policy, now_ms = world.workflow.policy, world.clock.now_ms()
    reply = await world.store.read(lambda tx: status_reply(tx, policy, now_ms))
    return "\n".join(str(block) for block in reply.blocks)


@pytest.mark.parametrize("down", [False, True], ids=["while it ran", "while it was down"])
async def test_J12_a_window_keeps_its_minutes_over_a_restart_by_a_clock_set_forward(
    machine: Machine, world: World, down: bool
) -> None:
    await opens(world)
    await machine.passes(1)
    if down:
        await world.workflow.stop(1)
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
    await machine.passes(35)  # the machine slept, which its boot clock counts
    await machine.starts()

    assert (await moved(world), await told(world)) == ([], [])


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


async def test_a_window_that_somebody_wrote_by_hand_is_not_made_true_by_moving_it(
    filed: World, tmp_path: Path
) -> None:
    machine = Machine(filed)
    await machine.starts()
    await opens(filed, "p1")
    await opens(filed, "p2")
    forged = f"UPDATE proposals SET window_closes_at_ms = {NOW_MS + MINUTE_MS} WHERE proposal_id"
    by_hand(tmp_path / "signoff.db", f"{forged} = 'p1'")
    machine.is_set(55)
    await machine.starts()

    assert await moved(filed) == ["p2"]
    assert any("window's end" in each for each in await problems(filed))
    await machine.passes(1)
    assert filed.tool("send-email").verbs() == ["execute", "execute"]


async def test_a_note_of_the_clock_that_cannot_be_read_is_none(
    filed: World, tmp_path: Path
) -> None:
    machine = Machine(filed)
    await machine.starts()
    await opens(filed)
    for kept in (
        "7",
        "no JSON",
        '{"boot": "boot 1", "clocks": [[0]], "moved": {"at_ms": "x"}}',
        '{"boot": "boot 1", "clocks": [[0, -1e30]]}',
        '{"boot": "boot 1", "clocks": [[0, -9000000000000000000]]}',
        '{"boot": "boot 1", "clocks": [[0, NaN]]}',
    ):
        changed = f"UPDATE flags SET value = '{kept}' WHERE name = 'clock'"
        by_hand(tmp_path / "signoff.db", changed)
        machine.is_set(5)
        await machine.starts()
        await status(filed)

    assert await moved(filed) == []


async def test_a_row_that_cannot_be_moved_keeps_no_other_from_it(
    filed: World, tmp_path: Path
) -> None:
    machine = Machine(filed)
    await machine.starts()
    for proposal_id in ("p1", "p2", "p3"):
        await opens(filed, proposal_id)
    refuses = "BEGIN SELECT RAISE(ABORT, 'no') WHERE new.proposal_id = 'p2'; END"
    by_hand(tmp_path / "signoff.db", f"CREATE TRIGGER t BEFORE UPDATE ON proposals {refuses}")
    machine.is_set(55)
    await machine.starts()

    assert sorted(await moved(filed)) == ["p1", "p3"]
    assert "2 windows moved along" in (await told(filed))[0]
    assert filed.tool("send-email").verbs() == ["execute"] * 3


@pytest.mark.parametrize(
    "written",
    [
        "proposals SET version = 'x'",
        "proposals SET document = 7",
        "proposals SET window_closes_at_ms = 'x'",
        "audit SET details = json_set(details, '$.ahead_ms', 'x')",
        "audit SET details = json_set(details, '$.ahead_ms', -9000000000000000000)",
    ],
)
async def test_no_row_that_was_written_over_keeps_a_bot_from_starting_after_its_clock_was_set(
    filed: World, tmp_path: Path, written: str
) -> None:
    machine = Machine(filed)
    await machine.starts()
    await opens(filed, "p1")
    await opens(filed, "p2")
    for (trigger,) in by_hand(tmp_path / "signoff.db", OF_TRIGGERS):
        by_hand(tmp_path / "signoff.db", f"DROP TRIGGER {trigger}")
    by_hand(tmp_path / "signoff.db", f"UPDATE {written} WHERE proposal_id = 'p1'")
    machine.is_set(55)
    await machine.starts()

    assert await moved(filed) == ["p2"]
    assert await closes_at_ms(filed, "p2") == NOW_MS + (55 + 15) * MINUTE_MS


async def test_a_start_that_ends_on_its_way_moves_nothing_twice(
    filed: World, tmp_path: Path
) -> None:
    machine = Machine(filed)
    await machine.starts()
    await opens(filed)
    refuses = "BEGIN SELECT RAISE(ABORT, 'no') WHERE new.name = 'clock'; END"
    by_hand(tmp_path / "signoff.db", f"CREATE TRIGGER t BEFORE INSERT ON flags {refuses}")
    machine.is_set(55)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await machine.starts()
    by_hand(tmp_path / "signoff.db", "DROP TRIGGER t")
    await machine.starts()

    assert await moved(filed) == ["p1"]
    assert await closes_at_ms(filed) == NOW_MS + (55 + 15) * MINUTE_MS
    assert await problems(filed) == []
