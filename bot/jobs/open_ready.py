"""Begin what is approved and had to wait: for a thaw, for its time, for evidence or its card."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Open what can begin now."""
    await workflow.open_ready()


JOB = Job("open_ready", "beginning what may begin now", every_s=1, run_once=run_once)
