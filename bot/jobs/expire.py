"""Ends proposals that nobody decided in time."""

from __future__ import annotations

from bot.jobs.job import Duties, Job


async def run_once(duties: Duties) -> int:
    """Expire what is past its deadline; return how many expired."""
    return await duties.expire_due()


JOB = Job("expire", every_s=1, run_once=run_once)
