"""Tells proposers of a ❌ whose person gave no reason in time."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Stop waiting for reasons that are overdue; return how many."""
    return await keeper.reasons_due()


JOB = Job("give_up_reasons", every_s=5, run_once=run_once)
