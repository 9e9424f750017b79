"""End proposals that nobody decided in time."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Expire what is past its deadline."""
    await workflow.expire_due()


JOB = Job("expire", "ending what is past its deadline", every_s=1, run_once=run_once)
