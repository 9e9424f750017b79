"""The jobs run at their pace, survive their own failures, and end when the bot ends."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from bot.jobs import JOBS, catch_up, deliver
from bot.jobs.job import Job
from bot.jobs.scheduler import LONGEST_PAUSE_S, Round, Scheduler
from lifecycle.audit import AuditEvent
from lifecycle.records import Message
from lifecycle.workflow import Workflow
from tests.bot.jobs.beside import FakeClock, FakeWorkflow
from tests.stage import staged
from tests.stories.unrecorded import FILE, break_audit, mend_audit
from tests.world import World

ANYTHING = AuditEvent(at="2026-03-02T12:00:00.000Z", kind="tried")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law, whose people hear of what keeps failing."""
    async with staged("memory:", tmp_path) as stage:
        yield stage


@pytest.mark.parametrize(
    ("name", "duty"),
    [
        ("close_windows", "close_due"),
        ("expire", "expire_due"),
        ("open_ready", "open_ready"),
        ("recover", "recover"),
        ("remind", "remind"),
        ("anchor", "anchor"),
        ("recheck", "recheck"),
    ],
)
async def test_a_round_is_one_duty(name: str, duty: str) -> None:
    workflow = FakeWorkflow()
    job = next(job for job in JOBS if job.name == name)

    await job.run_once(workflow)

    assert workflow.called == [duty]


async def test_surfaces_are_woken_so_that_they_try_again() -> None:
    workflow = FakeWorkflow()

    await deliver.run_once(workflow)

    assert workflow.world.notifier.nudges == 1


async def test_catching_up_reads_what_the_surfaces_kept() -> None:
    workflow = FakeWorkflow()

    await catch_up.run_once(workflow)

    assert workflow.world.notifier.caught_up == 1


def test_windows_are_looked_at_every_second() -> None:
    assert next(job for job in JOBS if job.name == "close_windows").every_s == 1


async def test_a_scheduled_job_runs_again_and_again_and_is_not_said_to_be_late(
    caplog: pytest.LogCaptureFixture,
) -> None:
    thrice = asyncio.Event()
    rounds = 0

    async def count(_workflow: object) -> int:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            thrice.set()
        return 0

    scheduler = Scheduler(
        [Job("count", "doing its work", 0.01, count)], FakeWorkflow(), FakeClock()
    )
    scheduler.start()
    await asyncio.wait_for(thrice.wait(), 10)
    await scheduler.stop(1)

    assert not scheduler.running
    assert caplog.messages == []


async def test_stopping_lets_a_round_end_that_has_begun() -> None:
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def long_round(_workflow: object) -> int:
        begun.set()
        await go_on.wait()
        ended.set()
        return 0

    scheduler = Scheduler(
        [Job("long", "doing its work", 0.01, long_round)], FakeWorkflow(), FakeClock()
    )
    scheduler.start()
    await asyncio.wait_for(begun.wait(), 10)
    stopping = asyncio.create_task(scheduler.stop(10))
    for _ in range(20):  # each a turn of the loop, in which it could give up waiting
        await asyncio.sleep(0)
    assert not stopping.done()
    go_on.set()
    await stopping

    assert ended.is_set()


async def test_stopping_does_not_wait_for_ever_and_logs_no_trace_of_what_it_cuts_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def endless(_workflow: object) -> int:
        begun.set()
        await asyncio.Event().wait()
        return 0

    scheduler = Scheduler(
        [Job("endless", "doing its work", 0.01, endless)], FakeWorkflow(), FakeClock()
    )
    scheduler.start()
    await asyncio.wait_for(begun.wait(), 10)

    await asyncio.wait_for(scheduler.stop(0.01), 10)
    for _ in range(20):  # each a turn of the loop, in which it could log that
        await asyncio.sleep(0)

    assert not scheduler.running
    assert caplog.records == []


async def test_failures_wait_longer_each_time_but_never_above_a_minute(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    clock, began_ms = FakeClock(), []

    async def fail(_workflow: object) -> int:
        began_ms.append(clock.ms)
        raise RuntimeError("token=hunter2")

    round_ = Round(Job("fail", "doing its work", 1, fail), world.workflow, clock)
    with caplog.at_level(logging.INFO):
        for _ in range(400):
            await round_.run()
            clock.ms += 1000

    pauses = [(b - a) // 1000 for a, b in pairwise(began_ms)]
    assert pauses[:6] == [2, 4, 8, 16, 32, LONGEST_PAUSE_S]
    assert set(pauses[6:]) == {LONGEST_PAUSE_S}
    assert "The job fail failed (RuntimeError at jobs/test_scheduler.py:" in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_round_that_is_cancelled_from_outside_ends_and_is_no_failure(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def goes_on(_workflow: object) -> int:
        begun.set()
        await asyncio.Event().wait()
        return 0

    round_ = Round(Job("long", "doing its work", 1, goes_on), world.workflow, FakeClock())
    task = asyncio.create_task(round_.run())
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert "The job long failed" not in caplog.text


async def test_a_round_that_a_library_cancels_is_a_failure_of_which_people_are_told(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    clock, began_ms = FakeClock(), []

    async def cut_off(_workflow: object) -> int:
        began_ms.append(clock.ms)
        raise asyncio.CancelledError

    round_ = Round(Job("cut", "doing its work", 1, cut_off), world.workflow, clock)
    for _ in range(100):
        await asyncio.create_task(round_.run())
        clock.ms += 1000
        world.clock.advance(1)

    assert [(b - a) // 1000 for a, b in pairwise(began_ms)][:4] == [2, 4, 8, 16]
    assert "The job cut failed (CancelledError at jobs/test_scheduler.py:" in caplog.text
    assert "Doing its work failed" in "".join(world.notifier.alerts)


async def test_what_waits_for_a_store_goes_on_once_that_takes_everything_again(
    tmp_path: Path,
) -> None:
    done_ms: list[int] = []

    async def note(workflow: Workflow) -> int:
        await workflow.world.write(lambda tx: tx.audit.append(ANYTHING))
        done_ms.append(workflow.world.clock.now_ms())
        return 1

    async with staged(f"sqlite:///{FILE}", tmp_path) as world:
        round_ = Round(Job("note", "noting", 1, note), world.workflow, world.clock)
        break_audit(tmp_path)
        for _ in range(8):
            await round_.run()
            world.clock.advance(LONGEST_PAUSE_S)
        await round_.run()

        mend_audit(tmp_path)
        world.clock.advance(1)
        await round_.run()
        assert done_ms == []  # nobody knows yet, and its pause is a minute by now
        await world.submits(proposal_id="m1")
        await round_.run()
        assert done_ms == [world.clock.now_ms()]


async def test_a_damaged_place_that_one_job_alone_meets_is_tried_and_told_no_oftener(
    tmp_path: Path,
) -> None:
    """All that others wrote was taken for the store being well: two alerts came every second."""
    rounds: list[int] = []

    async def remind(workflow: Workflow) -> int:
        rounds.append(1)
        said = Message("k", "terminal", "", "note", {"text": "look"}, 0)
        await workflow.world.write(lambda tx: tx.outbox.add(said))
        return 1

    async with staged(f"sqlite:///{FILE}", tmp_path) as world:
        round_ = Round(Job("remind", "reminding", 1, remind), world.workflow, world.clock)
        with closing(sqlite3.connect(tmp_path / FILE)) as plain:
            plain.execute("DROP TABLE outbox")
        for _ in range(300):
            await round_.run()
            await world.workflow.world.write(lambda tx: tx.audit.append(ANYTHING))
            world.clock.advance(1)

    assert len(rounds) < 15
    assert len(world.notifier.alerts) < 30


async def test_no_round_begins_beside_one_that_has_not_ended() -> None:
    begun: list[int] = []

    async def asks_again(_workflow: object) -> int:
        begun.append(1)
        await round_.run()
        return 0

    round_ = Round(Job("slow", "doing its work", 1, asks_again), FakeWorkflow(), FakeClock())
    await round_.run()
    assert begun == [1]


async def test_one_success_ends_the_waiting(world: World) -> None:
    clock, outcomes, rounds = FakeClock(), [RuntimeError("once"), None, None], []

    async def once(_workflow: object) -> int:
        rounds.append(clock.ms)
        outcome = outcomes[len(rounds) - 1]
        if outcome:
            raise outcome
        return 0

    round_ = Round(Job("once", "doing its work", 1, once), world.workflow, clock)
    for _ in range(4):
        await round_.run()
        clock.ms += 1000

    assert [(ms - rounds[0]) // 1000 for ms in rounds] == [0, 2, 3]
