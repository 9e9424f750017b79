"""Measures whole lives of proposals: one at a time, and many in flight."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from bot.bench.stage import Stage, staged


@dataclass(slots=True)
class Lives:
    """The result: lives a second, and the times from submit to sentinel_approved in ms.

    `with_cards_per_s` includes the delivery of the cards. With many lives in flight it cannot be
    left out, so compare that figure of lives alone with theirs.
    """

    per_s: float
    with_cards_per_s: float = 0.0
    submit_ms: list[float] = field(default_factory=list)

    @property
    def submit_median_ms(self) -> float:
        """The median time from submit to sentinel_approved, in ms."""
        return statistics.median(self.submit_ms)

    @property
    def submit_p99_ms(self) -> float:
        """The 99th percentile of the time from submit to sentinel_approved, in ms."""
        return sorted(self.submit_ms)[int(len(self.submit_ms) * 0.99)]


async def alone(folder: Path, lifecycles: int) -> Lives:
    """Run one life after the other.

    `per_s` leaves out the delivery of the card, which is the chat's time.
    """
    async with staged(folder) as stage:
        lives, counted_s, whole_s = Lives(0.0), 0.0, 0.0
        for _ in range(lifecycles):
            began = time.perf_counter()
            proposal_id = await stage.submit()
            submitted = time.perf_counter()
            await stage.deliver()
            shown = time.perf_counter()
            await stage.approve(proposal_id)
            await stage.workflow.idle()
            ended = time.perf_counter()
            counted_s += (submitted - began) + (ended - shown)
            whole_s += ended - began
            lives.submit_ms.append((submitted - began) * 1000)
        lives.per_s, lives.with_cards_per_s = lifecycles / counted_s, lifecycles / whole_s
        return lives


async def in_flight(folder: Path, lifecycles: int, width: int) -> Lives:
    """Run `lifecycles` lives, `width` at a time; cards are delivered beside them, as in a bot."""
    async with staged(folder) as stage:
        lives, places = Lives(0.0), asyncio.Semaphore(width)
        courier = Courier(stage)
        running = asyncio.create_task(courier.run())
        began = time.perf_counter()
        await asyncio.gather(*(_life(stage, lives, places, courier) for _ in range(lifecycles)))
        await stage.workflow.idle()
        lives.per_s = lives.with_cards_per_s = lifecycles / (time.perf_counter() - began)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return lives


@dataclass(slots=True)
class Courier:
    """Delivers the stale cards whenever it is nudged, as the delivery of a surface does.

    `begun` and `ended` count its rounds.
    """

    stage: Stage
    begun: int = 0
    ended: int = 0
    shown: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Deliver until cancelled."""
        nudged = self.stage.notifier.nudged
        while True:
            await nudged.wait()
            nudged.clear()
            self.begun += 1
            await self.stage.deliver()
            self.ended = self.begun
            self.shown.set()

    async def next_round(self) -> None:
        """Wait for the end of a round that begins from now on."""
        wanted = self.begun + 1
        self.stage.notifier.nudge()
        while self.ended < wanted:
            self.shown.clear()
            await self.shown.wait()


async def _life(stage: Stage, lives: Lives, places: asyncio.Semaphore, courier: Courier) -> None:
    async with places:
        began = time.perf_counter()
        proposal_id = await stage.submit()
        lives.submit_ms.append((time.perf_counter() - began) * 1000)
        await courier.next_round()
        await stage.approve(proposal_id)
