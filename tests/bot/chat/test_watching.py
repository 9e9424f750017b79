"""How the surfaces stand is kept for `status`, which asks no process."""

from __future__ import annotations

from typing import Any

from bot.chat.hearing.hearing import Hearing
from bot.chat.showing.watching import Watch
from bot.storage.memory import MemoryStore
from bot.surfaces_kept import kept_health
from tests.world import a_world


class Standing:
    """One surface, looked at as the bot does every five seconds."""

    def __init__(self) -> None:
        self.world = a_world(MemoryStore())
        self.hearing = Hearing(self.world.clock.now_ms)
        self._watch = Watch(self.world.workflow.world)

    async def kept(self, after_s: int = 0) -> Any:
        """Return what is kept once it was looked at."""
        self.world.clock.advance(after_s)
        await self._watch.look((), ("discord",), (f"discord: {self.hearing.words()}",))
        return await self.world.store.read(kept_health)


async def test_status_knows_at_once_that_a_surface_connected_or_went_away() -> None:
    surface = Standing()
    assert "not connected yet" in (await surface.kept())["lines"][0]

    surface.hearing.began()
    assert "connected since" in (await surface.kept(5))["lines"][0]

    surface.hearing.lost("the line was cut")
    assert "DOWN since" in (await surface.kept(5))["lines"][0]


async def test_a_surface_that_goes_on_hearing_is_written_down_once_a_minute() -> None:
    surface = Standing()
    surface.hearing.began()
    first = (await surface.kept())["at_ms"]

    surface.hearing.alive()
    assert (await surface.kept(30))["at_ms"] == first
    assert (await surface.kept(30))["at_ms"] == first + 60_000
