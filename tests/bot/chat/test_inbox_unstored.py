"""A stop that could not be stored when it came: held, stored as soon as it can be, worked once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bot.chat.hearing import inbox
from bot.chat.hearing.stops import StopOf
from bot.chat.surface import SurfaceFailed
from lifecycle import world as law
from lifecycle.heard import OVERDUE_MS, HeardStop, kept_stops
from lifecycle.ports import StoreUnavailable
from tests.bot.chat.working import Working
from tests.fakes.clock import FakeClock
from tests.fakes.discord_stage import until
from tests.slack_stage import QuickClock

SAID = ("e1", "x:c1", {"text": "reject p1 wrong version"}, StopOf("p1"))


class Unstored(Working):
    """An inbox whose platform does not say whose a stop is, over a store that takes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.world.clock = self.ours.clock = QuickClock()
        self.unknown, self.asked = True, 0
        self.may.set()
        self._takes = self.world.store.write
        self.takes_nothing()

    @property
    def ours(self) -> law.World:
        return self.world.workflow.world

    async def work(self, event_id: str, payload: Mapping[str, Any]) -> None:
        self.asked += 1
        if self.unknown:
            raise SurfaceFailed("Slack cannot be reached")
        await super().work(event_id, payload)

    def takes_nothing(self) -> None:
        async def locked(_unit: object) -> object:
            raise StoreUnavailable("database is locked")

        self.world.store.write = locked  # type: ignore[method-assign, assignment]

    def takes_again(self) -> None:
        self.world.store.write = self._takes  # type: ignore[method-assign]

    async def begins(self) -> asyncio.Task[None]:
        """Let a stop wait that is in memory alone."""
        doing = asyncio.create_task(self.inbox.work_unstored(*SAID, again=True))
        await until(lambda: self.asked > 1, "asked in vain")
        return doing

    async def kept(self) -> list[HeardStop]:
        return await self.world.store.read(kept_stops)


async def test_a_stop_is_stored_as_soon_as_it_can_be_with_when_it_was_heard() -> None:
    working = Unstored()
    heard_ms = working.ours.clock.now_ms()
    doing = await working.begins()
    working.world.clock.advance(30)
    working.takes_again()
    await until(doing.done, "stored")

    assert [(each.proposal_id, each.at_ms) for each in await working.kept()] == [("p1", heard_ms)]
    assert [each.at_ms for each in working.ours.heard.of("p1")] == [heard_ms]
    await working.inbox.close()


async def test_a_later_process_works_what_was_stored_so() -> None:
    working = Unstored()
    doing = await working.begins()
    working.takes_again()
    await until(doing.done, "stored")
    await working.inbox.close()

    after = Working(working.world.store)
    after.may.set()
    assert await after.inbox.resume() == 1
    await after.inbox.settled()
    assert [event_id for event_id, _ in after.worked] == ["e1"]


async def test_it_is_worked_once_although_it_was_delivered_and_stored_meanwhile() -> None:
    working = Unstored()
    doing = await working.begins()
    working.takes_again()
    assert await working.inbox.take(*SAID)
    await until(doing.done, "stored")
    assert working.ours.heard.ids() == {"p1"}

    working.unknown = False
    await working.inbox.settled()
    assert [event_id for event_id, _ in working.worked] == ["e1"]
    assert working.ours.heard.ids() == frozenset()


@pytest.mark.parametrize("stored", [True, False])
async def test_a_process_that_ends_stores_it_where_it_can_and_hardly_waits_for_it(
    stored: bool,
) -> None:
    working = Unstored()
    clock = working.world.clock = working.ours.clock = FakeClock()
    doing = asyncio.create_task(working.inbox.work_unstored(*SAID, again=True))
    await clock.run_for(60)  # by now its platform is asked rarely
    assert not doing.done()
    if stored:
        working.takes_again()
    working.ours.ending = True
    await clock.run_for(3)

    assert doing.done()
    assert (doing.exception() is None) is stored
    assert await working.inbox.kept() == (("e1",) if stored else ())


async def test_what_a_person_let_go_of_before_it_could_be_stored_stops_nothing_again() -> None:
    working = Unstored()
    clock = working.world.clock = working.ours.clock = FakeClock()
    said = ("e1", "x:c1", {"text": "freeze look first"}, StopOf())
    doing = asyncio.create_task(working.inbox.work_unstored(*said, again=True))
    await clock.run_for(OVERDUE_MS / 1000)
    assert working.ours.heard.freezes()
    working.takes_again()
    thawed = await working.world.workflow.thaw(working.world.sender("ana"))
    await clock.run_for(3)

    assert doing.done()
    assert "is let go of" in thawed.words
    assert working.ours.heard.freezes() == ()
    assert await working.kept() == []
    assert await working.inbox.kept() == ("e1",)
    await working.inbox.close()


async def test_a_process_that_ends_while_the_platform_is_asked_stores_it() -> None:
    working = Unstored()
    working.unknown = False
    working.may.clear()
    working.ours.background.spawn(working.inbox.work_unstored(*SAID, again=True))
    await until(lambda: working.asked, "asked")
    working.takes_again()
    await working.world.workflow.shut_down(grace_s=0.01)

    assert await working.inbox.kept() == ("e1",)
    assert [each.proposal_id for each in await working.kept()] == ["p1"]
    assert working.worked == []
    await working.inbox.close()


@pytest.mark.parametrize("mistake", [KeyError("user"), asyncio.CancelledError()])
async def test_a_mistake_of_ours_lets_go_of_no_stop_that_could_not_be_stored(
    mistake: BaseException,
) -> None:
    working = Unstored()
    mistakes = [mistake]

    async def work(event_id: str, payload: Mapping[str, Any]) -> None:
        if mistakes:
            raise mistakes.pop()
        await working.work(event_id, payload)

    working.works_by(work)
    doing = asyncio.create_task(working.inbox.work_unstored(*SAID, again=True))
    await until(lambda: doing.done() or working.asked > 1, "asked again")
    assert working.ours.heard.ids() == {"p1"}
    working.takes_again()
    await until(doing.done, "stored")
    assert await working.inbox.kept() == ("e1",)
    await working.inbox.close()


async def test_what_another_delivery_was_stored_and_failed_by_mistake_goes_on_holding() -> None:
    working = Unstored()
    clock = working.world.clock = working.ours.clock = FakeClock()

    async def work(_event_id: str, _payload: Mapping[str, Any]) -> None:
        working.asked += 1
        raise KeyError("user")

    working.works_by(work)
    doing = asyncio.create_task(working.inbox.work_unstored(*SAID, again=True))
    await clock.run_for(6)  # by now it is tried every two seconds
    working.takes_again()
    assert await working.inbox.take(*SAID)
    await clock.run_for(5)

    assert doing.done()
    assert await working.inbox.kept() == ("e1",)
    assert working.ours.heard.ids() == {"p1"}
    await working.inbox.close()


async def test_a_task_that_is_ended_while_it_waits_stores_what_it_stands_for() -> None:
    """It ended in its pause, and the store had been back for a second."""
    working = Unstored()
    working.world.clock = working.ours.clock = FakeClock()
    doing = asyncio.create_task(working.inbox.work_unstored(*SAID, again=True))
    await until(lambda: working.asked, "asked in vain")
    working.takes_again()
    doing.cancel()
    await asyncio.wait({doing})

    assert await working.inbox.kept() == ("e1",)
    await working.inbox.close()


async def test_no_end_waits_long_for_whoever_has_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them waited for its turn at a locked database, and the process was killed."""
    monkeypatch.setattr(inbox, "_LAST_TRY_S", 0.01)
    working, tries = Unstored(), list[object]()
    working.world.clock = working.ours.clock = FakeClock()

    async def hangs(unit: object) -> object:
        tries.append(unit)
        return await asyncio.Event().wait()

    working.world.store.write = hangs  # type: ignore[method-assign, assignment]
    doing = asyncio.create_task(working.inbox.work_unstored(*SAID, again=True))
    await until(lambda: working.asked, "asked in vain")
    doing.cancel()
    await until(doing.done, "ended")

    assert len(tries) == 1
