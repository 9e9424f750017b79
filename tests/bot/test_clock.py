"""Time is anchored once and goes on by the boot clock, whatever the wall does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from bot.clocks.boot_id import boot_id
from bot.clocks.clock import SystemClock, boot_ns
from tests.fakes.clock import NOON_MS, FakeClock

MINUTE_NS = 60_000_000_000


class Machine:
    """A wall clock and a boot clock that a test moves."""

    def __init__(self) -> None:
        self.wall_ns = NOON_MS * 1_000_000
        self.boot_ns = 5 * MINUTE_NS

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall_ns, lambda: self.boot_ns)


@pytest.mark.parametrize("set_back_minutes", [60, -60, 0])
def test_J12_setting_the_wall_clock_moves_no_window(set_back_minutes: int) -> None:
    machine = Machine()
    clock = machine.clock()

    machine.boot_ns += 5 * MINUTE_NS
    machine.wall_ns -= set_back_minutes * MINUTE_NS

    assert clock.now_ms() == NOON_MS + 5 * 60_000


def test_J12_the_time_that_the_machine_slept_has_passed() -> None:
    machine = Machine()
    clock = machine.clock()

    machine.boot_ns += 35 * MINUTE_NS

    assert clock.now_ms() == NOON_MS + 35 * 60_000


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="This system has no boot clock.")
def test_J12_time_goes_on_by_the_clock_that_counts_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {time.CLOCK_BOOTTIME: 40 * MINUTE_NS, time.CLOCK_MONOTONIC: 5 * MINUTE_NS}
    monkeypatch.setattr(time, "clock_gettime_ns", told.__getitem__)

    assert boot_ns() == 40 * MINUTE_NS


def test_a_new_process_reads_the_wall_anew() -> None:
    machine = Machine()
    machine.clock()
    machine.wall_ns += MINUTE_NS

    assert machine.clock().now_ms() == NOON_MS + 60_000


def test_two_clocks_of_one_boot_differ_by_what_the_wall_was_set() -> None:
    machine = Machine()
    first = machine.clock()
    machine.boot_ns += 9 * MINUTE_NS
    machine.wall_ns += (9 + 55) * MINUTE_NS

    assert machine.clock().ahead_ms() - first.ahead_ms() == 55 * 60_000


def test_a_boot_is_known_again_by_another_process() -> None:
    asked = "from bot.clocks.boot_id import boot_id; print(boot_id())"
    other = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )

    assert other.stdout.strip() == boot_id() != ""


def test_the_machines_own_clocks_are_read() -> None:
    before_ms = time.time_ns() // 1_000_000
    now_ms = SystemClock().now_ms()

    assert before_ms - 1 <= now_ms <= before_ms + 5_000
    assert boot_ns() <= boot_ns()


async def test_the_systems_sleep_lets_others_work() -> None:
    worked: list[str] = []
    asyncio.get_running_loop().call_soon(worked.append, "another")

    await SystemClock().sleep(0)

    assert worked == ["another"]


async def test_the_fake_clock_wakes_only_whose_time_has_come() -> None:
    clock, woken = FakeClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.now_ms() - NOON_MS))

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (2, 1, 9)]
    await asyncio.sleep(0)
    clock.advance(2)
    await asyncio.sleep(0)
    assert woken == [(1, 2000), (2, 2000)]
    assert clock.sleeping == 1

    clock.advance(7)
    await asyncio.gather(*tasks)
    assert woken[-1] == (9, 9000)


async def test_the_fake_clock_can_run_as_time_does() -> None:
    clock, rounds = FakeClock(), []

    async def every_second() -> None:
        while True:
            await clock.sleep(1)
            rounds.append(clock.now_ms() - NOON_MS)

    task = asyncio.create_task(every_second())
    await clock.run_for(3.5)
    task.cancel()

    assert rounds == [1000, 2000, 3000]
    assert clock.now_ms() == NOON_MS + 3500


def test_the_fake_clock_never_goes_back() -> None:
    with pytest.raises(AssertionError):
        FakeClock().advance(-1)
