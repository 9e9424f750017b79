"""What is told while the bot ends: what somebody can do something about, once, by the log alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.jobs.job import Job
from bot.jobs.scheduler import Round
from lifecycle.ports import RowChanged, StoreUnavailable
from lifecycle.workflow import Workflow
from tests.slack_stage.unwritable import Unwritable
from tests.stage import staged
from tests.world import World

MANY = 20


@pytest.fixture
async def ending(tmp_path: Path) -> AsyncIterator[World]:
    """A bot that was told to stop."""
    async with staged("memory:", tmp_path) as stage:
        stage.workflow.world.ending = True
        yield stage


@pytest.fixture
def disk(ending: World) -> Unwritable:
    """Its disk, which is full."""
    full = Unwritable(ending.store)
    full.failing = True
    ending.workflow.world.store = full  # type: ignore[assignment]
    return full


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def failed(work: asyncio.Task[None]) -> None:
    await asyncio.wait({work})
    await asyncio.sleep(0)


async def test_that_the_store_takes_nothing_is_told_once_with_its_reason_however_much_waits(
    ending: World, disk: Unwritable, caplog: pytest.LogCaptureFixture
) -> None:
    world = ending.workflow.world
    writes = [world.background.spawn(world.write_until_taken(lambda tx: None)) for _ in range(MANY)]

    await ending.clock.run_for(8)
    (told,) = errors(caplog)
    disk.failing = False
    await ending.clock.run_for(1)
    await asyncio.gather(*writes)

    assert "The store cannot be written since" in told
    assert "the disk is full" in told
    assert "The store can be written again" in errors(caplog)[-1]
    assert len(errors(caplog)) == 2
    assert ending.notifier.alerts == []


async def test_a_step_that_the_end_cuts_off_is_given_up_and_does_not_work_again(
    ending: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_view: object) -> None:
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(ending.store, "read", fails)
    world = ending.workflow.world
    world.background.spawn(world.read_until_answered("taking p1 back", lambda tx: None))
    await ending.clock.run_for(60)

    await ending.workflow.shut_down(0)

    assert errors(caplog)[-1].startswith("Taking p1 back is given up (the bot ends): from")


async def test_an_act_that_a_full_disk_ends_is_no_second_line(
    ending: World, disk: Unwritable, caplog: pytest.LogCaptureFixture
) -> None:
    world = ending.workflow.world

    await asyncio.gather(
        *(failed(world.background.spawn(world.write(lambda tx: None))) for _ in range(MANY))
    )

    assert len(errors(caplog)) == 1


async def test_what_comes_to_a_store_that_closed_with_the_bot_is_no_trouble(
    ending: World, caplog: pytest.LogCaptureFixture
) -> None:
    world = ending.workflow.world
    await world.store.close()

    with pytest.raises(StoreUnavailable):
        await world.write(lambda tx: None)
    await failed(world.background.spawn(world.write(lambda tx: None)))

    assert errors(caplog) == []


@pytest.mark.parametrize(
    ("error", "lines"), [(StoreUnavailable("the disk is full"), 0), (KeyError("k"), 1)]
)
async def test_a_job_promises_no_further_round_where_a_full_disk_ends_its_last_one(
    ending: World, error: Exception, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_workflow: Workflow) -> int:
        raise error

    await Round(
        Job("job", "doing it", every_s=1, run_once=fails), ending.workflow, ending.clock
    ).run()

    assert len(errors(caplog)) == lines


@pytest.mark.parametrize("error", [KeyError("k"), RowChanged("p1 was changed")])
async def test_a_mistake_in_the_background_and_a_row_at_fault_are_errors(
    ending: World, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def mistaken() -> None:
        raise error

    await failed(ending.workflow.world.background.spawn(mistaken()))

    assert ["background work failed" in each for each in errors(caplog)] == [True]
