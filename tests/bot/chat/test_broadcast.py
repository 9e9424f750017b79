"""The broadcast asks each surface for cards, people and what was missed, and begins it anew."""

from __future__ import annotations

import asyncio

import pytest

from bot.chat.commands.commands import Commands
from bot.chat.showing.broadcast import Broadcast
from bot.chat.showing.delivery import Delivery
from bot.chat.surface import SurfaceFailed
from bot.expected import StartFailed
from lifecycle.records import Card
from tests.bot.chat.delivering import Stage
from tests.builders import PROD
from tests.fakes.surface import FakeSurface


class Breaking(FakeSurface):
    """A surface on which people are met, whose first lives end by mistakes of ours."""

    def __init__(self, *ends: BaseException) -> None:
        super().__init__()
        self.ends = list(ends)
        self.lives = 0

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        self.lives += 1
        if self.ends:
            raise self.ends.pop(0)


class Connected(FakeSurface):
    """A surface whose connection may be another one meanwhile."""

    since_ms: int | None = 1

    def heard_since(self) -> int | None:
        return self.since_ms


async def test_a_window_may_close_once_one_surface_was_read() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    await stage.submits(PROD)
    discord.readable = False
    assert await stage.broadcast.read_cards("p1")
    slack.readable = False
    assert not await stage.broadcast.read_cards("p1")


async def test_a_card_that_is_found_while_another_is_read_is_read_before_its_window_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer to its post was lost: it may have stood, and been given ❌, all the time."""
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    await stage.submits(PROD)
    discord.failures = [SurfaceFailed("its answer is lost")]
    await stage.delivery("discord").drain()
    await stage.delivery("slack").drain()
    read: list[tuple[str, ...]] = []

    async def finds_it(card: Card) -> bool:
        stage.world.clock.advance(1)
        await stage.delivery("discord").drain()
        return True

    async def reads(card: Card) -> bool:
        read.append(card.message_ids)
        return bool(card.message_ids)

    monkeypatch.setattr(slack, "read_card", finds_it)
    monkeypatch.setattr(discord, "read_card", reads)

    assert await stage.broadcast.read_cards("p1")
    assert read == [(), ("m1",)]


async def test_a_card_that_is_not_read_in_time_is_left_to_itself_and_counts_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.hearing.card_readings.PATIENCE_S", 0.05)
    surface, gate = FakeSurface(), asyncio.Event()
    stage = Stage(surface)
    await stage.submits(PROD)
    asked: list[asyncio.Task[bool] | None] = []

    async def slow(card: Card) -> bool:
        asked.append(asyncio.current_task())
        await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", slow)
    assert not await stage.broadcast.read_cards("p1")
    assert not await stage.broadcast.read_cards("p1")
    gate.set()
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 1, "its answer came late and counts all the same"
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 2


async def test_an_answer_that_came_far_too_late_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.hearing.card_readings.PATIENCE_S", 0.01)
    monkeypatch.setattr("bot.chat.hearing.card_readings._MOST_LATE", 1)
    surface, gate, asked = FakeSurface(), asyncio.Event(), []
    stage = Stage(surface)
    await stage.submits(PROD)

    async def slow(card: Card) -> bool:
        asked.append(card)
        await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", slow)
    assert not await stage.broadcast.read_cards("p1")
    stage.world.clock.advance(600)  # however long it takes: it is as old as its answer
    gate.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stage.world.clock.advance(76)
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 2


async def test_a_card_that_is_being_read_as_the_bot_ends_is_not_read_and_no_trouble(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    surface, begun = Breaking(), asyncio.Event()
    stage = Stage(surface)
    await stage.submits(PROD)

    async def hangs(card: Card) -> bool:
        begun.set()
        return await asyncio.Event().wait()

    monkeypatch.setattr(surface, "read_card", hangs)
    reading = asyncio.create_task(stage.broadcast.read_cards("p1"))
    await begun.wait()
    await stage.broadcast.serve(stage.world.workflow)

    assert not await reading
    assert caplog.messages == []


async def test_an_answer_of_another_connection_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.hearing.card_readings.PATIENCE_S", 0.01)
    surface, gate = Connected(), asyncio.Event()
    stage = Stage(surface)
    await stage.submits(PROD)
    asked = []

    async def slow(card: Card) -> bool:
        asked.append(card)
        await gate.wait()
        return True

    monkeypatch.setattr(surface, "read_card", slow)
    assert not await stage.broadcast.read_cards("p1")
    surface.since_ms = 2
    gate.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await stage.broadcast.read_cards("p1")
    assert len(asked) == 2


async def test_an_answer_during_which_the_connection_was_lost_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    surface = Connected()
    stage = Stage(surface)
    await stage.submits(PROD)

    async def lost_meanwhile(card: Card) -> bool:
        surface.since_ms = None
        return True

    monkeypatch.setattr(surface, "read_card", lost_meanwhile)
    assert not await stage.broadcast.read_cards("p1")


async def test_what_was_missed_is_read_on_every_surface() -> None:
    stage = Stage(FakeSurface("discord"), FakeSurface("slack"))

    assert await stage.broadcast.catch_up() == 4
    assert stage.broadcast.health() == ("discord: connected", "slack: connected")


async def test_without_a_surface_nothing_was_missed() -> None:
    assert await Stage().broadcast.catch_up() == 0


async def test_a_surface_that_ends_by_a_mistake_of_ours_is_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.showing.broadcast._BEGIN_ANEW_S", (0, 0))
    surface = Breaking(ZeroDivisionError(), asyncio.CancelledError())
    stage = Stage(surface)
    stage.broadcast = Broadcast([surface])

    await stage.broadcast.serve(stage.world.workflow)

    assert surface.lives == 3


async def test_a_surface_that_cannot_start_ends_the_bot_where_it_is_alone() -> None:
    surface = Breaking(StartFailed("a wrong token"))
    stage = Stage(surface)
    stage.broadcast = Broadcast([surface])

    with pytest.raises(StartFailed):
        await stage.broadcast.serve(stage.world.workflow)


class Meeting(Breaking):
    """A surface that ends as soon as somebody says so."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.leaves = name, asyncio.Event()

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        await super().serve(commands, delivery)
        await self.leaves.wait()


async def test_that_the_bot_goes_on_without_a_surface_that_ended_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    terminal, slack = Meeting("terminal"), Meeting("slack")
    stage = Stage(terminal, slack)
    serving = asyncio.create_task(stage.broadcast.serve(stage.world.workflow))
    async with asyncio.timeout(5):
        while not (terminal.lives and slack.lives):  # noqa: ASYNC110 - they have no more to tell
            await asyncio.sleep(0)
        terminal.leaves.set()
        while not caplog.messages:  # noqa: ASYNC110 - nor has the log
            await asyncio.sleep(0)
        assert not serving.done()
        slack.leaves.set()
        await serving

    assert caplog.messages == [
        "terminal has ended; the bot goes on without it, until Ctrl-C or SIGTERM"
    ]


async def test_cards_are_shown_although_nobody_can_be_met_any_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    surface = Breaking()
    stage = Stage(surface)
    broadcast = Broadcast([surface])
    stage.world.workflow.world.notifier = broadcast
    serving = asyncio.create_task(broadcast.serve(stage.world.workflow, on=True))
    while not surface.lives:  # noqa: ASYNC110 - it has no more to tell than that
        await asyncio.sleep(0)
    await stage.submits(PROD)
    broadcast.nudge()
    async with asyncio.timeout(5):
        while not surface.posted:  # noqa: ASYNC110 - nor has this
            await asyncio.sleep(0)
    assert not serving.done()
    assert caplog.messages == [
        f"{surface.name} has ended; the bot goes on without it, until Ctrl-C or SIGTERM"
    ]
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
