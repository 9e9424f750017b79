"""A disk that hangs refuses nothing: people are told that the store does not answer, and when it
does again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.jobs import ask_store
from bot.jobs.scheduler import LONGEST_ROUND_S, Round
from lifecycle.ports import StoreUnavailable
from tests.slack_stage.unwritable import Unwritable
from tests.stage import staged
from tests.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law, whose people hear of what keeps failing."""
    async with staged("memory:", tmp_path) as stage:
        yield stage


@pytest.fixture
def disk(world: World) -> Unwritable:
    """Its disk, which hangs until `slow` is set."""
    hanging = Unwritable(world.store)
    hanging.slow = asyncio.Event()
    world.workflow.world.store = hanging  # type: ignore[assignment]
    return hanging


async def asked(world: World) -> asyncio.Task[None]:
    """Let the job ask, and half a minute pass."""
    asking = asyncio.create_task(Round(ask_store.JOB, world.workflow, world.clock).run())
    await world.clock.run_for(30)
    return asking


def since_ms(world: World) -> int | None:
    return world.workflow.world.troubles.unwritten.since_ms


async def test_people_are_told_of_a_store_that_does_not_answer_and_when_it_does_again(
    world: World, disk: Unwritable
) -> None:
    """The log, `status` and /healthz knew nothing of it for ten minutes."""
    asking = await asked(world)
    hung, told = since_ms(world), list(world.notifier.alerts)
    await world.clock.run_for(60)
    disk.slow.set()  # type: ignore[union-attr]
    await asking

    assert hung == world.clock.now_ms() - 90_000
    assert [words[:30] for words in told] == ["The store does not answer sinc"]
    assert [words[:30] for words in world.notifier.alerts[1:]] == ["The store answers again. It di"]
    assert since_ms(world) is None


async def test_a_store_that_answers_within_half_a_minute_is_no_news(
    world: World, disk: Unwritable
) -> None:
    asking = asyncio.create_task(ask_store.run_once(world.workflow))
    await world.clock.run_for(29)
    disk.slow.set()  # type: ignore[union-attr]
    await asking
    await world.clock.run_for(5)

    assert world.notifier.alerts == []


async def test_a_store_that_hangs_and_then_fails_is_told_as_one_that_cannot_be_written(
    world: World, disk: Unwritable
) -> None:
    """The all-clear then comes when it can be written, as for any other failure."""
    asking = await asked(world)
    disk.failing = True
    disk.slow.set()  # type: ignore[union-attr]
    await asking
    failing = since_ms(world)
    disk.failing = False
    await world.workflow.world.write(lambda tx: None)

    assert failing is not None
    assert [words[:27] for words in world.notifier.alerts] == [
        "The store does not answer s",
        "The store cannot be written",
        "The store can be written ag",
    ]


async def test_a_write_that_went_well_after_a_hang_gives_one_all_clear(
    world: World, disk: Unwritable
) -> None:
    waits = asyncio.create_task(world.workflow.world.write(lambda tx: None))
    asking = await asked(world)
    disk.slow.set()  # type: ignore[union-attr]
    await asyncio.gather(waits, asking)

    assert [words[:25] for words in world.notifier.alerts[1:]] == ["The store answers again. "]


async def test_nobody_is_told_to_restart_the_bot_for_what_waits_for_a_hanging_disk(
    world: World, disk: Unwritable
) -> None:
    """A stop may wait for the disk as well, and a restart would not mend that."""
    round_ = Round(ask_store.JOB, world.workflow, world.clock)
    asking = asyncio.create_task(round_.run())
    await world.clock.run_for(LONGEST_ROUND_S + 1)
    round_.look()
    disk.slow.set()  # type: ignore[union-attr]
    await asking

    assert [words[:24] for words in world.notifier.alerts] == [
        "The store does not answe",
        "The store answers again.",
    ]


async def test_an_end_over_a_store_that_does_not_answer_is_no_news(
    world: World, disk: Unwritable
) -> None:
    """What waits for it then is named by itself."""
    world.workflow.world.ending = True
    asking = await asked(world)
    hung = since_ms(world)
    disk.slow.set()  # type: ignore[union-attr]
    await asking

    assert (hung, since_ms(world)) == (None, None)


async def test_people_are_told_of_readers_that_do_not_answer_although_the_writer_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, read = asyncio.Event(), world.store.read

    async def hangs(view: Callable[[Any], Any]) -> Any:
        await answers.wait()
        return await read(view)

    monkeypatch.setattr(world.workflow.world.store, "read", hangs)
    asking = await asked(world)
    hung = since_ms(world)
    answers.set()
    await asking

    assert hung is not None
    assert since_ms(world) is None


async def test_readers_that_fail_are_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who must read something tells of that."""

    async def fails(_view: Callable[[Any], Any]) -> Any:
        raise StoreUnavailable("its file is gone")

    monkeypatch.setattr(world.workflow.world.store, "read", fails)

    await ask_store.run_once(world.workflow)

    assert since_ms(world) is None


def test_an_answer_is_no_all_clear_while_writes_fail(world: World) -> None:
    """On a full disk what writes nothing goes well."""
    troubles, began_ms = world.workflow.world.troubles, world.clock.now_ms()
    troubles.store_hangs(began_ms)
    world.clock.advance(60)
    for _ in range(2):
        troubles.store_failed(StoreUnavailable("the disk is full"))
    troubles.store_hangs(world.clock.now_ms())
    troubles.store_answers()

    assert troubles.unwritten.since_ms == began_ms
    assert [words[:27] for words in world.notifier.alerts] == [
        "The store does not answer s",
        "The store cannot be written",
    ]


async def test_a_question_that_is_called_off_leaves_nothing_behind_that_waits_for_the_store(
    world: World, disk: Unwritable
) -> None:
    """It waited for as long as the disk hung, at the end of the bot as well."""
    before = asyncio.all_tasks()
    asking = asyncio.create_task(ask_store.run_once(world.workflow))
    await world.clock.run_for(1)
    assert asyncio.all_tasks() - before - {asking}

    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await world.clock.run_for(0)

    assert asyncio.all_tasks() == before
