"""Jobs run at their pace whatever becomes of the wall clock."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from apscheduler.schedulers import base
from apscheduler.triggers import interval

from bot.jobs.job import Job
from bot.jobs.scheduler import Scheduler
from tests.bot.jobs.beside import FakeClock, FakeWorkflow
from tests.slack_stage.waiting import eventually


async def test_a_job_that_sleeps_because_the_wall_clock_went_back_is_scheduled_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def begin(_workflow: object) -> int:
        begun.set()
        return 0

    scheduler = Scheduler(
        [Job("sleeper", "doing its work", 0.01, begin)], FakeWorkflow(), FakeClock()
    )
    scheduler.start()
    plain = scheduler._scheduler
    plain.modify_job("sleeper", next_run_time=datetime(2100, 1, 1, tzinfo=UTC))
    await asyncio.sleep(0)  # the scheduler takes note in its next turn
    begun.clear()
    scheduler._began_at_s["sleeper"] = asyncio.get_running_loop().time() - 60

    scheduler._look_after()

    await asyncio.wait_for(begun.wait(), 10)
    assert "The job sleeper is late" in caplog.text
    assert scheduler.names == ["sleeper"]
    await scheduler.stop(1)


class StandsStill(datetime):
    """A wall clock that stands still, as the scheduler reads it."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime(2026, 3, 2, 12, tzinfo=tz)


async def test_jobs_run_though_the_wall_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()

    async def begin(_workflow: object) -> int:
        begun.set()
        return 0

    for module in (base, interval):
        monkeypatch.setattr(module, "datetime", StandsStill)
    scheduler = Scheduler([Job("slow", "its work", 0.01, begin)], FakeWorkflow(), FakeClock())
    scheduler.start()
    running = scheduler._scheduler._executors["default"]._instances
    for _ in range(2):
        begun.clear()
        scheduler._began_at_s["slow"] = asyncio.get_running_loop().time() - 60
        scheduler._look_after()
        await asyncio.wait_for(begun.wait(), 5)
        # No round is begun beside one whose end APScheduler has not noted yet.
        await eventually(lambda: not running, "the end of a round")
    await scheduler.stop(1)


async def test_what_was_missed_while_the_machine_slept_or_its_clock_jumped_is_one_round() -> None:
    async def nothing(_workflow: object) -> int:
        return 0

    scheduler = Scheduler([Job("often", "its work", 1, nothing)], FakeWorkflow(), FakeClock())
    scheduler.start()
    (often,) = scheduler._scheduler.get_jobs()
    first: datetime = often.next_run_time
    later = first + timedelta(days=7)

    missed = often._get_run_times(later)

    assert missed == [first]
    assert often.trigger.get_next_fire_time(missed[-1], later) == later + timedelta(seconds=1)
    assert often.trigger.get_next_fire_time(first, first) == first + timedelta(seconds=1)
    await scheduler.stop(1)
