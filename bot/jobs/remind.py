"""Remind people once of what waits for them, at a quarter of the remaining time."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Remind of what is due."""
    await workflow.remind()


JOB = Job("remind", "reminding people of what waits", every_s=5, run_once=run_once)
