"""A disk that stands still once the intent of a call can be seen: the call is made, once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.storage.side_file import SideFile
from lifecycle.proposal import Outcome
from tests.builders import MAIL
from tests.stories.standing_still import is_asked_to_write
from tests.world import World

_SEND = "send-email"


@dataclass
class Disk:
    """Folds the side file into the database for as long as it likes, behind a commit."""

    stands: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        if self.stands:
            self.reached.set()
            self.goes_on.wait()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, real = Disk(), SideFile.empty

    def empty(side_file: SideFile, patience: str) -> None:
        disk.wait()
        real(side_file, patience)

    monkeypatch.setattr(SideFile, "empty", empty)
    return disk


async def is_begun_on(disk: Disk, world: World) -> None:
    """Approve p1; its beginning stands on disk for most of a minute before anybody hears of it."""
    await world.submits(MAIL, proposal_id="p1")
    disk.stands = True
    approving = asyncio.create_task(world.workflow.approve("p1", world.sender("ana")))
    await asyncio.to_thread(disk.reached.wait)
    for _ in range(5):
        world.clock.advance(10)
        await world.workflow.recover()
    recovering = asyncio.create_task(world.workflow.recover())
    await is_asked_to_write(world)
    disk.stands = False
    disk.goes_on.set()
    await asyncio.gather(approving, recovering)
    await world.workflow.idle()
    await world.workflow.recover()
    await world.workflow.idle()


async def called(world: World) -> tuple[Any, ...]:
    begun = await world.proposal("p1")
    assert begun.execution is not None
    keys = [call.idempotency_key for call in world.tool(_SEND).calls]
    return begun.attention, begun.execution.outcome, begun.execution.tries, keys


async def test_an_answer_counts_although_its_call_was_late(on_disk: World, disk: Disk) -> None:
    await is_begun_on(disk, on_disk)
    assert await called(on_disk) == (None, Outcome.DONE, 1, ["p1:execute:1"])


async def test_a_call_that_comes_late_is_not_made_twice(on_disk: World, disk: Disk) -> None:
    tools = dict(on_disk.workflow.policy.tools)
    tools[_SEND] = replace(tools[_SEND], idempotent=True)
    await on_disk.adopts(tools=tools)
    await is_begun_on(disk, on_disk)
    assert await called(on_disk) == (None, Outcome.DONE, 1, ["p1:execute:1"])
