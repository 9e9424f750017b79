"""What the bot does by itself and cannot do for long is told to people, not to a log alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.chat.showing.broadcast import Broadcast
from bot.jobs.close_windows import JOB as CLOSING
from bot.jobs.expire import JOB as EXPIRING
from bot.jobs.job import Job
from bot.jobs.scheduler import Round
from lifecycle.ports import RowUnreadable, StoreUnavailable
from lifecycle.state import State
from lifecycle.workings.failing import TOLD_AFTER, Failing
from tests.builders import MAIL
from tests.roads import trail_of
from tests.stage import staged
from tests.world import World

NOON = "2026-03-02 12:00:00 UTC"


class Disk:
    """Whether the store of a world can be read."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self.gone = False
        read = world.store.read

        async def tried(view: Any) -> Any:
            if self.gone:
                raise StoreUnavailable("the disk is gone")
            return await read(view)

        patch.setattr(world.store, "read", tried)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law in memory: which store cannot be read makes no difference."""
    async with staged("memory:", tmp_path) as stage:
        yield stage


@pytest.fixture
def disk(world: World, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(world, monkeypatch)


def rounds(world: World, *jobs: Job) -> list[Round]:
    return [Round(job, world.workflow, world.clock) for job in jobs]


async def run_for(world: World, seconds: int, running: list[Round]) -> None:
    """Let every job have its turn each second."""
    for _ in range(seconds):
        for each in running:
            await each.run()
        world.clock.advance(1)


async def test_a_roll_back_that_cannot_be_carried_out_for_half_a_minute_calls_people(
    world: World, disk: Disk, mail: str
) -> None:
    world.workflow.world.nonce = gone_when_asked(disk, world.workflow.world.nonce)
    stopping = asyncio.create_task(world.rejects("ben", mail))
    await world.clock.run_for(29)
    assert world.notifier.alerts == []

    await world.clock.run_for(40)

    (words,) = world.notifier.alerts
    assert words.startswith(f"Taking {mail} back failed 7 times since {NOON} (the disk is")
    assert (await last_health(world)) == words.replace("7 times", "8 times")

    disk.gone = False
    await world.clock.run_for(60)
    await stopping
    assert (await world.proposal(mail)).state is State.ROLLED_BACK
    assert world.notifier.alerts[1].startswith(f"Taking {mail} back works again: from {NOON}")
    assert await last_health(world) is None


async def test_what_is_given_up_has_no_all_clear(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    why: list[StoreUnavailable] = [StoreUnavailable("the disk is gone")]

    async def fails(_view: object) -> None:
        raise why[-1]

    monkeypatch.setattr(world.store, "read", fails)
    reading = asyncio.create_task(
        world.workflow.world.read_until_answered("taking p1 back", lambda _: 0)
    )
    await world.clock.run_for(60)
    why.append(RowUnreadable("the row of p1 cannot be read"))
    await world.clock.run_for(60)

    assert reading.exception() is why[-1]
    _, last = world.notifier.alerts
    assert last.startswith("Taking p1 back is given up (the row of p1 cannot be read): from")
    assert world.workflow.world.troubles.failing.words() == ()


def gone_when_asked(disk: Disk, nonce: Any) -> Any:
    """Take the disk away once the permit of a roll back is made, just before it is called."""

    def made() -> str:
        disk.gone = True
        return str(nonce())

    return made


async def last_health(world: World) -> str | None:
    """Return the last line about the bot itself that `status` has."""
    broadcast = Broadcast([])
    broadcast.attach(world.workflow.world)
    return next(reversed(broadcast.health()), None)


async def test_a_job_that_fails_again_and_again_is_told_once_with_its_all_clear(
    world: World,
) -> None:
    broken = [True]

    async def closes(_workflow: object) -> int:
        if broken:
            raise RuntimeError("token=hunter2")
        return 0

    job = Job(CLOSING.name, CLOSING.doing, CLOSING.every_s, closes)
    running = rounds(world, job)
    await run_for(world, 30, running)
    assert world.notifier.alerts == []

    await run_for(world, 300, running)
    broken.clear()
    await run_for(world, 61, running)

    told, mended = world.notifier.alerts
    assert told.startswith("Closing the windows that are due failed 5 times since 2026-03-02 12:00")
    assert "(RuntimeError)" in told
    assert mended.startswith("Closing the windows that are due works again: from 2026-03-02 12:00")
    assert "hunter2" not in told + mended


async def test_a_store_that_cannot_be_read_is_told_once_for_all_the_jobs(
    world: World, disk: Disk
) -> None:
    running = rounds(world, CLOSING, EXPIRING)
    disk.gone = True
    await run_for(world, 100, running)

    (told,) = world.notifier.alerts
    assert told.startswith("Asking the store what is due failed")

    disk.gone = False
    await run_for(world, 61, running)
    assert len(world.notifier.alerts) == 2


async def test_the_all_clear_of_the_store_waits_for_the_last_job_that_it_fails(
    world: World,
) -> None:
    broken = {"looks": [True], "asks": [True]}

    def job(name: str) -> Job:
        async def asks(_workflow: object) -> int:
            if broken[name]:
                raise StoreUnavailable("a page of it cannot be read")
            return 0

        return Job(name, f"what {name}", 1, asks)

    running = rounds(world, *map(job, broken))
    await run_for(world, 100, running)
    broken["looks"].clear()
    await run_for(world, 100, running)
    assert len(world.notifier.alerts) == 1

    broken["asks"].clear()
    await run_for(world, 61, running)
    assert "works again" in world.notifier.alerts[1]


async def test_a_job_that_fails_for_one_reason_and_another_has_its_all_clear_for_both(
    world: World,
) -> None:
    reasons: list[Exception] = [RuntimeError()]

    async def closes(_workflow: object) -> int:
        for reason in reasons:
            raise reason
        return 0

    running = rounds(world, Job("closes", CLOSING.doing, 1, closes))
    await run_for(world, 100, running)
    reasons[:] = [StoreUnavailable("it is locked")]
    await run_for(world, 70, running)
    reasons.clear()
    await run_for(world, 61, running)

    told, mended = world.notifier.alerts
    assert "RuntimeError" in told
    assert mended.startswith("Closing the windows that are due works again")
    assert world.workflow.world.troubles.failing.words() == ()


async def test_jobs_that_fail_since_nothing_can_be_written_add_nothing_to_what_was_told(
    world: World,
) -> None:
    async def writes(_workflow: object) -> int:
        raise StoreUnavailable("disk full")

    await run_for(world, 100, rounds(world, Job("writes", "writing", 1, writes)))
    alone = list(world.notifier.alerts)
    world.notifier.alerts.clear()
    world.workflow.world.troubles.unwritten.failed(world.clock.now_ms(), "disk full")

    await run_for(world, 100, rounds(world, Job("writes again", "writing again", 1, writes)))

    assert len(alone) == 1
    assert world.notifier.alerts == []


def test_what_failed_rarely_is_no_news() -> None:
    failing = Failing()
    told = [failing.failed("looking", 1_000 * n, "why") for n in range(TOLD_AFTER)]
    at_once = failing.mended("looking", 5_000), failing.words()
    late = [failing.failed("looking", 60_000 * n, "why") for n in range(TOLD_AFTER - 1)]

    assert {*told, *late, at_once[0]} == {None}
    assert at_once[1] == ()


async def test_the_log_says_where_a_tool_broke_and_people_read_no_inside_of_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks(_call: object) -> dict[str, Any]:
        raise KeyError("token=hunter2")

    world.tool("send-email").on["execute"] = breaks
    proposal_id = (await world.submits(MAIL)).proposal_id or ""

    await world.approves("ana", proposal_id)

    (line,) = (r.message for r in caplog.records if r.name == "signoff.tools")
    assert line.startswith("execute of send-email: KeyError at stories/test_failing.py:")
    entries = await world.store.read(lambda tx: trail_of(tx, proposal_id))
    told = str([entry.event.details for entry in entries])
    assert "KeyError" in told
    assert "test_failing" not in told
    assert "hunter2" not in line + told


async def test_a_job_that_does_not_end_is_told_after_ten_minutes_and_once(world: World) -> None:
    go_on = asyncio.Event()

    async def hangs(_workflow: object) -> int:
        await go_on.wait()
        return 0

    (round_,) = rounds(world, Job("hangs", "closing the windows that are due", 1, hangs))
    running = asyncio.create_task(round_.run())
    for _ in range(60):
        await asyncio.sleep(0)
        round_.look()
        world.clock.advance(10)
    assert world.notifier.alerts == []

    for _ in range(60):
        round_.look()
        world.clock.advance(10)

    (told,) = world.notifier.alerts
    assert told.startswith(f"Closing the windows that are due is under way since {NOON}")
    assert await last_health(world) == told
    go_on.set()
    await running
    assert world.notifier.alerts[1:] == [
        "Closing the windows that are due has ended; it took 20 minutes."
    ]
    assert await last_health(world) is None
