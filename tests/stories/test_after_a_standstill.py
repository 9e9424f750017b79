"""A store that stands still, or a machine that sleeps, between Sentinel's word and a beginning."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.verdict import Verdict
from lifecycle.world import Law
from tests.builders import MAIL
from tests.fakes.tools import raising, waiting_for
from tests.stage import staged
from tests.stories.resting_on_evidence import CONDITION
from tests.stories.standing_still import is_asked_to_write
from tests.world import World

_SLEPT_S = 1_200
_WINDOW_MS = 900_000


class _Telling(Sentinel):
    """Tells when it has said its word."""

    async def check(self, *args: Any, **more: Any) -> Verdict:
        verdict = await super().check(*args, **more)
        self.said.set()
        return verdict


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with staged("sqlite:///signoff.db", tmp_path) as world:
        law = world.workflow.world.law
        telling = _Telling(law.sentinel.rules, limit_s=30.0)
        telling.said = asyncio.Event()
        world.workflow.world.law = Law(law.policy, telling)
        yield world


async def is_approved_and_waits(world: World, **changes: Any) -> None:
    """Approve it in a freeze, which is lifted then."""
    await world.workflow.freeze("looking", world.sender("ana"))
    await world.submits(MAIL, proposal_id="p1", **changes)
    await world.approves("ben", "p1")
    await world.workflow.thaw(world.sender("ana"))


async def stands_still(world: World) -> None:
    """Let the store stand still from Sentinel's word on, for twenty minutes."""
    said: asyncio.Event = world.workflow.world.law.sentinel.said
    said.clear()
    await waits_for_the_store(world, world.workflow.open_ready(), said.wait())


async def waits_for_the_store(
    world: World, work: Coroutine[Any, Any, object], until: Coroutine[Any, Any, object]
) -> None:
    """Do some work, over a store that stands still from a moment on for twenty minutes."""
    gate = threading.Event()
    standing = asyncio.create_task(world.store.write(lambda _: gate.wait()))
    await asyncio.sleep(0)
    working = asyncio.create_task(work)
    await until
    for _ in range(5):
        await asyncio.sleep(0)
    world.clock.advance(_SLEPT_S)
    gate.set()
    await asyncio.gather(standing, working)
    await world.workflow.idle()


async def test_what_begins_after_a_standstill_has_its_whole_window(world: World) -> None:
    await is_approved_and_waits(world)
    await stands_still(world)
    begun = await world.proposal("p1")
    assert begun.state is State.EXECUTING
    assert begun.execution is not None
    assert begun.execution.window_closes_at_ms == world.clock.now_ms() + _WINDOW_MS


async def test_nothing_begins_on_evidence_that_grew_old_in_a_standstill(world: World) -> None:
    await world.observes(True)
    await is_approved_and_waits(world, preconditions=[CONDITION])
    await stands_still(world)
    waits = await world.proposal("p1")
    assert (waits.state, waits.waiting_for) == (State.SENTINEL_APPROVED, "evidence_stale")


async def test_nothing_begins_whose_deadline_passed_in_a_standstill(world: World) -> None:
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 600_000, "max_duration_ms": 1_000}
    await is_approved_and_waits(world, time_window=window)
    await stands_still(world)
    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")
    assert world.tool("send-email").verbs() == []


async def is_cut_off(world: World) -> None:
    """Begin p1, and let the process end while its tool is at work."""
    never = asyncio.Event()
    world.tool("send-email").on["execute"] = waiting_for(never)
    await world.submits(MAIL, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    for call in tuple(world.workflow.world.background.calls):
        call.cancel()
    await world.workflow.idle()
    world.tool("send-email").on.clear()
    await world.workflow.recoverer.find_orphans()


async def has_its_whole_window(world: World) -> bool:
    execution = (await world.proposal("p1")).execution
    assert execution is not None
    return execution.window_closes_at_ms == world.clock.now_ms() + _WINDOW_MS


async def test_what_is_called_again_after_a_standstill_has_its_whole_window(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools["send-email"] = replace(tools["send-email"], idempotent=True)
    await world.adopts(tools=tools)
    await is_cut_off(world)
    await waits_for_the_store(world, world.workflow.recover(), is_asked_to_write(world))
    assert world.tool("send-email").verbs() == ["execute", "execute"]
    assert await has_its_whole_window(world)


async def test_what_a_person_found_done_has_its_whole_window_after_a_standstill(
    world: World,
) -> None:
    await is_cut_off(world)
    await world.workflow.recover()
    settling = world.workflow.settle("p1", world.sender("ana"), happened=True)
    await waits_for_the_store(world, settling, is_asked_to_write(world))
    assert await has_its_whole_window(world)


async def waits_for_the_commit(world: World, work: Coroutine[Any, Any, object]) -> None:
    """Let what some work writes run in time, and be on disk only twenty minutes later."""
    before, beside, reached = threading.Event(), threading.Event(), threading.Event()

    def stands_still_in_the_same_commit(_: Transaction) -> None:
        reached.set()
        beside.wait()

    first = asyncio.create_task(world.store.write(lambda _: before.wait()))
    await asyncio.sleep(0)
    asked = asyncio.create_task(is_asked_to_write(world))
    await asyncio.sleep(0)
    working = asyncio.create_task(work)
    await asked
    await asyncio.sleep(0)
    last = asyncio.create_task(world.store.write(stands_still_in_the_same_commit))
    await asyncio.sleep(0)
    before.set()
    await asyncio.to_thread(reached.wait)
    world.clock.advance(_SLEPT_S)
    beside.set()
    await asyncio.gather(first, working, last)
    await world.workflow.idle()


async def test_what_was_on_disk_too_late_is_not_called(world: World) -> None:
    """Its window would have been over as soon as its tool had answered."""
    await is_approved_and_waits(world)
    await waits_for_the_commit(world, world.workflow.open_ready())

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "tool_failed")
    assert "Nothing was called" in ended.explanation
    assert world.tool("send-email").verbs() == []


async def test_what_is_tried_again_and_was_on_disk_too_late_is_for_a_person(world: World) -> None:
    world.tool("send-email").on["execute"] = raising(RuntimeError("cut off"))
    await is_approved_and_waits(world)
    await world.workflow.open_ready()
    await world.workflow.idle()
    assert (await world.proposal("p1")).attention is Attention.OUTCOME_UNKNOWN
    await waits_for_the_commit(world, world.workflow.retry("p1", world.sender("ben")))

    doubtful = await world.proposal("p1")
    assert doubtful.attention is Attention.OUTCOME_UNKNOWN
    assert "Nothing was called this time" in doubtful.attention_why
    assert world.tool("send-email").verbs() == ["execute"]
