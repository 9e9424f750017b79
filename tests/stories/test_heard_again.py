"""A card that could not be read is read again before anything begins; a ❌ may stand there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.jobs.open_ready import JOB as BEGINNING
from bot.jobs.scheduler import Round
from lifecycle.state import State
from tests.builders import PROD
from tests.fakes.notifier import PlainNotifier
from tests.stories.test_refused_windows import FORBID
from tests.world import World

DEPLOY = "production-deploy"
#: Rounds come a little later than they are due.
SECOND_S = 1.003


@pytest.mark.parametrize("first", ["unread", "failed"])
async def test_a_stop_on_a_card_that_can_be_read_by_now_is_heard(
    world: World, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.workflow.thaw(world.sender("ana"))
    asked: list[str] = []

    async def hear(_: PlainNotifier, proposal_id: str, _but: str) -> bool:
        asked.append(proposal_id)
        if len(asked) == 1:
            if first == "failed":
                raise OSError("the platform cannot be reached")
            return False
        assert (await world.workflow.reject("p1", world.sender("ben"), "no")).done
        return True

    monkeypatch.setattr(PlainNotifier, "hear_others", hear)
    for _ in range(3):
        await world.workflow.open_ready()
        world.clock.advance(6)
    await world.workflow.idle()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "rejected_by_person")
    assert world.tool(DEPLOY).verbs() == []


async def rounds(world: World, job: Round, number: int) -> None:
    """Let the job be due so often, once a second."""
    for _ in range(number):
        await job.run()
        world.clock.advance(SECOND_S)
    await world.workflow.idle()


async def test_nothing_waits_for_good_for_such_a_card_beside_a_row_that_is_refused(
    on_disk: World, forged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job that begins things paused for 10 s each time, and began to wait anew after each."""
    world, job = on_disk, Round(BEGINNING, on_disk.workflow, on_disk.clock)
    await world.submits(PROD, proposal_id="p1")
    await world.workflow.freeze("a look first", world.sender("ana"))
    await world.approves("ana", "p1")
    forged(FORBID)
    await world.workflow.thaw(world.sender("ana"))
    await rounds(world, job, 30)
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms + 1, "valid_until_ms": now_ms + 10**7, "max_duration_ms": 1}
    await world.submits(PROD, proposal_id="p2", parameters={"v": "2"}, time_window=window)
    await world.approves("ana", "p2")

    async def never(_: PlainNotifier, proposal_id: str, _but: str) -> bool:
        return proposal_id == "p1" or await asyncio.Event().wait()

    monkeypatch.setattr(PlainNotifier, "hear_others", never)
    await rounds(world, job, 40)

    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
