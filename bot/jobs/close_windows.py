"""Closes rollback windows that are due: deadlines live in rows, so a late round loses none."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> int:
    """Close what is due, oldest first; return how many closed."""
    return await workflow.close_due()


JOB = Job("close_windows", "closing the windows that are due", every_s=1, run_once=run_once)
