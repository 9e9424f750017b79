"""Takes up what a process that died has left: calls without an answer, unchecked proposals."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Take up what was left; return how many proposals that concerned."""
    return await keeper.recover()


JOB = Job("recover", every_s=5, run_once=run_once)
