"""Ends proposals that nobody decided in time."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Expire what is past its deadline; return how many expired."""
    return await keeper.expire_due()


JOB = Job("expire", every_s=1, run_once=run_once)
