"""Wakes the surfaces, so that what could not be delivered is tried again when it is due."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Nudge the surfaces; they look themselves for what is due."""
    keeper.world.notifier.nudge()
    return 0


JOB = Job("deliver", every_s=1, run_once=run_once)
