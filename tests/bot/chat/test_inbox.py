"""The inbox: on disk before it is acknowledged, worked once, and its stops known to the law."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from bot.chat.commands.typed import lane_of
from bot.chat.hearing.inbox import Inbox
from bot.chat.hearing.stops import StopOf, stop_typed
from bot.chat.surface import SurfaceFailed
from lifecycle import world as law
from lifecycle.heard import HeardStop, kept_stops
from lifecycle.ports import StoreUnavailable
from tests.bot.chat.working import Working
from tests.fakes.discord_stage import until
from tests.slack_stage import QuickClock


class Stopping(Working):
    """An inbox in which a stop waits; `breaks` where working it meets a mistake of ours."""

    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__()
        self.breaks = breaks
        self.world.clock = self.ours.clock = QuickClock()

    @property
    def ours(self) -> law.World:
        return self.world.workflow.world

    async def work(self, event_id: str, payload: Mapping[str, Any]) -> None:
        await super().work(event_id, payload)
        if self.breaks:
            raise RuntimeError("a mistake of ours")

    async def stops(self, proposal_id: str | None = "p1") -> bool:
        return await self.inbox.take("e1", "x:c1", {"text": "reject"}, StopOf(proposal_id))

    async def kept(self) -> list[HeardStop]:
        return await self.world.store.read(kept_stops)


async def test_a_stop_is_known_to_the_law_from_when_it_was_heard_until_it_was_worked() -> None:
    working = Stopping()
    taking = asyncio.create_task(working.stops())
    await asyncio.sleep(0)
    assert working.ours.heard.ids() == {"p1"}
    assert await taking
    assert [each.proposal_id for each in await working.kept()] == ["p1"]

    working.may.set()
    await working.inbox.settled()
    assert working.ours.heard.ids() == frozenset()
    assert await working.kept() == []


async def test_a_stop_that_is_delivered_again_is_no_end_of_the_one_that_waits() -> None:
    working = Stopping()
    assert await working.stops()
    assert not await working.stops()
    assert working.ours.heard.ids() == {"p1"}


async def test_no_stop_is_let_go_of_because_of_a_mistake_of_ours() -> None:
    working = Stopping(breaks=True)
    working.may.set()
    assert await working.stops()
    await working.inbox.settled()
    assert len(working.worked) == 3
    assert working.ours.heard.ids() == {"p1"}
    assert [each.proposal_id for each in await working.kept()] == ["p1"]
    assert await Inbox("slack", working.ours, working.work).resume() == 1


async def test_an_event_waits_for_memory_as_it_waits_for_the_store() -> None:
    working, lacking = Working(), 9
    world, worked = working.world.workflow.world, working.work
    world.clock = QuickClock()

    async def work(event_id: str, payload: Mapping[str, Any]) -> None:
        nonlocal lacking
        lacking -= 1
        if lacking >= 0:
            raise MemoryError
        await worked(event_id, payload)

    working.may.set()
    working.works_by(work)
    await working.takes(1)
    await working.inbox.settled()

    assert [event_id for event_id, _ in working.worked] == ["e1"]


async def test_a_stop_that_cannot_be_stored_is_known_to_the_law_while_it_is_worked() -> None:
    working = Stopping()
    stops = StopOf("p1")
    unstored = working.inbox.work_unstored("e1", "x:c1", {"text": "reject"}, stops, again=True)
    doing = asyncio.create_task(unstored)
    await asyncio.sleep(0)
    assert working.ours.heard.ids() == {"p1"}
    working.may.set()
    await doing
    assert working.ours.heard.ids() == frozenset()


async def test_a_stop_that_was_worked_and_comes_again_over_a_full_disk_holds_nothing() -> None:
    working = Stopping()
    working.may.set()
    assert await working.stops()
    await working.inbox.settled()

    async def unwritten(event_id: str, payload: Mapping[str, Any]) -> None:
        raise StoreUnavailable("the disk is full")

    working.works_by(unwritten)
    async with asyncio.timeout(5):
        await working.inbox.work_unstored(
            "e1", "x:c1", {"text": "reject"}, StopOf("p1"), again=True
        )

    assert working.ours.heard.ids() == frozenset()


async def test_a_stop_that_was_worked_and_comes_again_holds_nothing_although_nothing_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its hold was nobody's any more: a further delivery of it let nobody go either."""
    working = Stopping()
    working.may.set()
    assert await working.stops()
    await working.inbox.settled()

    async def unread(view: object) -> None:
        raise StoreUnavailable("the database cannot be read")

    async def unwritten(event_id: str, payload: Mapping[str, Any]) -> None:
        monkeypatch.setattr(working.world.store, "read", unread)
        raise StoreUnavailable("the disk is full")

    working.works_by(unwritten)
    async with asyncio.timeout(5):
        with suppress(StoreUnavailable):
            await working.inbox.work_unstored(
                "e1", "x:c1", {"text": "reject"}, StopOf("p1"), again=True
            )
    monkeypatch.undo()
    assert not await working.stops()

    assert working.ours.heard.ids() == frozenset()


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("reject p1 wrong version", StopOf("p1")),
        ("roll-back p1 wrong recipient", StopOf("p1")),
        ("freeze everything is wrong", StopOf()),
        ("freeze", None),
        ("reject", None),
        ("approve p1", None),
        ("thaw", None),
    ],
)
def test_what_is_typed_says_of_what_it_is_a_stop(text: str, stops: StopOf | None) -> None:
    assert stop_typed(text) == stops


def test_a_freeze_waits_for_nothing_else_that_was_typed_and_a_thaw_follows_it() -> None:
    freeze, thaw, pending = (lane_of(word, "ana", "1") for word in ("freeze x", "thaw", "pending"))
    assert freeze == thaw != pending


async def test_a_lane_that_is_worked_off_leaves_nothing_behind_although_another_event_waits() -> (
    None
):
    working = Working()

    async def work(event_id: str, payload: Mapping[str, Any]) -> None:
        if event_id == "e1":
            await working.may.wait()

    working.works_by(work)
    await working.takes(*range(1, 52))
    await until(lambda: len(working.inbox._tasks) == 1, "all but the first are worked")
    assert list(working.inbox.lanes) == ["p:1"]
    working.may.set()
    await working.inbox.settled()
    assert not working.inbox.lanes


async def test_of_events_tried_again_after_an_outage_one_begins_in_each_turn() -> None:
    working, turn, begun = Working(), [0], list[int]()
    working.world.workflow.world.clock = QuickClock()
    tried = set[str]()

    async def work(event_id: str, payload: Mapping[str, Any]) -> None:
        if event_id not in tried:
            tried.add(event_id)
            await working.may.wait()
            raise SurfaceFailed("it is away")
        begun.append(turn[0])

    async def turns() -> None:
        while True:
            turn[0] += 1
            await asyncio.sleep(0)

    working.works_by(work)
    await working.takes(*range(20))
    await until(lambda: len(tried) == 20, "each was tried")
    counting = asyncio.create_task(turns())
    working.may.set()
    await working.inbox.settled()
    counting.cancel()
    assert len(begun) == len(set(begun)) == 20


async def test_what_was_stored_although_nobody_heard_so_is_worked_once_it_is_delivered_again() -> (
    None
):
    working = Working()
    await working.inbox.resume()
    working.may.set()
    real = working.world.store.write

    async def loses_its_answer(unit: Any) -> Any:
        await real(unit)
        raise StoreUnavailable("the connection to the store was lost")

    said = ("e1", "x:c1", {"text": "reject p1"}, StopOf("p1"))
    working.world.store.write = loses_its_answer  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await working.inbox.take(*said)
    working.world.store.write = real  # type: ignore[method-assign]
    assert await working.inbox.take(*said)
    assert working.world.workflow.world.heard.of("p1")
    assert not await working.inbox.take(*said)
    await working.inbox.settled()
    assert not await working.inbox.take(*said)
    assert [(name, each["text"]) for name, each in working.worked] == [("e1", "reject p1")]
    assert not working.world.workflow.world.heard.of("p1")
    assert await working.inbox.kept() == ()
