"""Compares the clock at a start with that of the former process of the same boot (ADR 0022)."""

from __future__ import annotations

from bot.clocks.strayed import Anchored
from lifecycle.clockwork.clocks import take_up_clock
from lifecycle.world import World


async def resume_clock(world: World, boot: str) -> None:
    """Let open proposals keep the time that they were given, before this clock is first used.

    `boot` is the text of `bot.clocks.boot_id`. If this raises StoreUnavailable, do not start.
    """
    if isinstance(world.clock, Anchored):
        await take_up_clock(world, boot, world.clock.ahead_ms())
