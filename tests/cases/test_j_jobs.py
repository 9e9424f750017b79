"""Cases J on the level of the scheduler: names, doubles, failures."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.jobs import JOBS
from bot.jobs.job import Job
from bot.jobs.scheduler import Round, Scheduler
from tests.stage import staged
from tests.world import World


class StoppedClock:
    """A clock that is moved by hand."""

    ms = 1_772_452_800_000

    def now_ms(self) -> int:
        return self.ms

    async def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


@pytest.fixture
async def scheduler():
    made = Scheduler(JOBS, object(), StoppedClock())
    yield made
    await made.stop(0)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law, whose people hear of what keeps failing."""
    async with staged("memory:", tmp_path) as stage:
        yield stage


async def test_J06_being_ready_three_times_is_one_scheduler_with_one_closing_job(
    scheduler: Scheduler,
) -> None:
    for _ in range(3):
        scheduler.start()

    assert scheduler.running
    assert scheduler.names.count("close_windows") == 1


async def test_J09_adding_the_jobs_again_leaves_one_of_each(scheduler: Scheduler) -> None:
    scheduler.start()
    scheduler.start()

    assert sorted(scheduler.names) == sorted(job.name for job in JOBS)
    assert len(set(scheduler.names)) == len(JOBS)


async def test_J09_a_scheduler_starts_again_after_it_was_stopped() -> None:
    scheduler = Scheduler(JOBS, object(), StoppedClock())
    scheduler.start()
    await scheduler.stop(0)
    scheduler.start()

    assert sorted(scheduler.names) == sorted(job.name for job in JOBS)
    await scheduler.stop(0)


async def test_J10_jobs_are_few_and_named_and_none_takes_a_proposal(scheduler: Scheduler) -> None:
    scheduler.start()

    assert len(scheduler.names) <= 12
    assert all(name.isidentifier() for name in scheduler.names)
    for job in JOBS:
        assert list(inspect.signature(job.run_once).parameters) == ["workflow"]


async def test_J11_a_job_that_raises_is_tried_again_after_ever_longer_and_the_scheduler_lives(
    scheduler: Scheduler, world: World
) -> None:
    clock, answers = StoppedClock(), [RuntimeError("database is locked"), OSError("chat"), 1]
    tried_after_s: list[int] = []

    async def close(_workflow: object) -> int:
        tried_after_s.append((clock.ms - StoppedClock.ms) // 1000)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    scheduler.start()
    round_ = Round(Job("close_windows", "closing", 1, close), world.workflow, clock)
    while answers:
        await round_.run()
        clock.ms += 1000

    assert tried_after_s == [0, 2, 6]
    assert scheduler.running
