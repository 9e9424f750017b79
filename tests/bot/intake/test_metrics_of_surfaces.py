"""A bot that hears nothing is seen from outside, also where no other surface could tell people."""

from __future__ import annotations

from bot.chat.hearing.hearing import Hearing, Trouble
from bot.chat.showing.watching import Watch
from bot.intake.http.metrics import Metrics
from bot.storage.memory import MemoryStore
from bot.surfaces_kept import kept_health
from tests.world import a_world

DEAF, HEARS = (f'signoff_deaf_surface{{surface="terminal"}} {number}' for number in ("1.0", "0.0"))


class Only:
    """The one surface of a bot, watched as the bot does every five seconds."""

    name = "terminal"

    def __init__(self) -> None:
        self.world = a_world(MemoryStore())
        self.hearing = Hearing(self.world.clock.now_ms)
        self.hearing.began()
        self._watch = Watch(self.world.workflow.world)
        self._metrics = Metrics(self.world.workflow)

    def trouble(self) -> Trouble | None:
        return self.hearing.trouble()

    async def numbers(self) -> str:
        return (await self._metrics.text()).decode()

    async def later(self, seconds: int) -> None:
        for _ in range(seconds // 5):
            self.world.clock.advance(5)
            await self._watch.look((self,), (self.name,), ("terminal: as it is",))


async def test_the_only_surface_is_told_to_be_deaf_as_soon_as_another_one_would_hear_of_it() -> (
    None
):
    surface = Only()
    await surface.later(5)
    assert HEARS in await surface.numbers()

    surface.hearing.lost("the line was cut")
    await surface.later(25)
    assert HEARS in await surface.numbers()
    await surface.later(10)
    assert DEAF in await surface.numbers()
    kept = await surface.world.store.read(kept_health)
    assert kept is not None
    assert kept["troubles"]["terminal"]["why"] == "the line was cut"

    surface.hearing.began()
    await surface.later(5)
    assert HEARS in await surface.numbers()


async def test_before_the_bot_looked_no_surface_is_told_to_be_deaf() -> None:
    assert HEARS in await Only().numbers()
