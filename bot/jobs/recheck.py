"""Judges again what is open after the policy changed."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Re-check what was judged under another policy; return how many were."""
    return await keeper.recheck()


JOB = Job("recheck", every_s=1, run_once=run_once)
