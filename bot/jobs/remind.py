"""Reminds people once of what waits for them, at a quarter of the remaining time."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Remind of what is due; return how many reminders were written."""
    return await keeper.remind()


JOB = Job("remind", every_s=5, run_once=run_once)
