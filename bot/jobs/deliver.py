"""Wake the surfaces, so that what could not be delivered is tried again when it is due."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Nudge the surfaces, which look for themselves what is due."""
    workflow.world.notifier.nudge()


JOB = Job("deliver", "bringing cards and answers up to date", every_s=1, run_once=run_once)
