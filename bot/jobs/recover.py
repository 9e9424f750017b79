"""Take up what was left: stops in the spool, calls without an answer, unchecked proposals."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Take up what was left."""
    await workflow.recover()


JOB = Job("recover", "taking up what was cut off", every_s=1, run_once=run_once)
