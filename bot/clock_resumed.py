"""A start compares its clock with the one by which the former process of the same boot counted."""

from __future__ import annotations

from bot.clock_strayed import Anchored
from lifecycle.clockwork.clocks import take_up_clock
from lifecycle.world import World


async def resume_clock(world: World, boot: str) -> None:
    """Let what is open keep the time that it was given, before anything is done by this clock.

    `boot` is what `bot.boot_id` says. Raises StoreUnavailable; then nothing may be done by it.
    """
    if isinstance(world.clock, Anchored):
        await take_up_clock(world, boot, world.clock.ahead_ms())
