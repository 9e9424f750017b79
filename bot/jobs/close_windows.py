"""Closes rollback windows that are due: deadlines live in rows, so a late round loses none."""

from __future__ import annotations

from bot.jobs.job import Duties, Job


async def run_once(duties: Duties) -> int:
    """Close what is due, oldest first; return how many closed."""
    return await duties.close_due()


JOB = Job("close_windows", every_s=1, run_once=run_once)
