"""Close the rollback windows that are due.

Their deadlines stand in rows of the store, so that a late round loses none.
"""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Close what is due, earliest first."""
    await workflow.close_due()


JOB = Job("close_windows", "closing the windows that are due", every_s=1, run_once=run_once)
