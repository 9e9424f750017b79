"""What people on other surfaces are told of one that hears nothing: once, and until it hears."""

from __future__ import annotations

import pytest

from bot.chat.hearing.hearing import Hearing, Trouble
from bot.chat.showing.watching import Watch
from bot.storage.memory import MemoryStore
from tests.slack_stage.unwritable import Unwritable
from tests.world import a_world


class Ear:
    """A surface that can fall deaf, watched as the bot does every five seconds."""

    name = "discord"

    def __init__(self) -> None:
        self.world = a_world(MemoryStore())
        self.hearing = Hearing(self.world.clock.now_ms)
        self._watch = Watch(self.world.workflow.world)

    def trouble(self) -> Trouble | None:
        return self.hearing.trouble()

    async def told(self, seconds: int) -> list[str]:
        """Return what Slack is told in that time."""
        for _ in range(seconds // 5):
            self.world.clock.advance(5)
            await self._watch.look((self,), ("discord", "slack"), ())
        now_ms = self.world.clock.now_ms()
        messages = await self.world.store.read(lambda tx: tx.outbox.waiting("slack", now_ms, 50))
        return [each.body["text"].split(" since")[0].split(";")[0] for each in messages]


DEAF, HEARS = "⚠️ discord has heard nothing", "discord hears again"


@pytest.fixture
def ear() -> Ear:
    made = Ear()
    made.hearing.began()
    return made


async def test_a_silent_line_that_is_found_dead_does_not_hear_again(ear: Ear) -> None:
    assert await ear.told(70) == [DEAF]
    ear.hearing.lost("the connection to Discord was lost")
    assert await ear.told(60) == [DEAF]

    ear.hearing.began()
    assert await ear.told(10) == [DEAF, HEARS]


async def test_a_channel_that_is_not_seen_does_not_hear_again_because_the_line_is_lost(
    ear: Ear,
) -> None:
    ear.hearing.blinded("the channel may not be viewed")
    for _ in range(12):
        ear.hearing.alive()
        told = await ear.told(5)
    assert told == [DEAF]
    ear.hearing.lost("the connection to Discord was lost")
    assert await ear.told(20) == [DEAF]


async def test_a_line_that_is_back_on_a_channel_that_is_not_seen_does_not_hear_again(
    ear: Ear,
) -> None:
    ear.hearing.lost("the connection to Discord was lost")
    assert await ear.told(60) == [DEAF]
    ear.hearing.blinded("the channel may not be viewed")
    ear.hearing.began()
    assert await ear.told(20) == [DEAF]

    assert ear.hearing.sees()
    assert await ear.told(10) == [DEAF, HEARS]


async def test_each_time_that_it_hears_nothing_is_told_anew(ear: Ear) -> None:
    told = []
    for _ in range(2):
        ear.hearing.lost("the connection to Discord was lost")
        await ear.told(60)
        ear.hearing.began()
        told = await ear.told(10)

    assert told == [DEAF, HEARS] * 2


async def test_what_the_store_did_not_take_is_told_once_it_does(ear: Ear) -> None:
    disk = Unwritable(ear.world.store)
    ear.world.workflow.world.store = disk  # type: ignore[assignment]
    disk.failing = True
    ear.hearing.lost("the connection to Discord was lost")
    assert await ear.told(60) == []

    disk.failing = False
    assert await ear.told(10) == [DEAF]
