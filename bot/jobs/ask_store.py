"""Ask the store whether it answers; a disk that hangs refuses nothing, and tells nobody."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow
from lifecycle.workings.answering import ask


async def run_once(workflow: Workflow) -> None:
    """Ask once."""
    await ask(workflow.world, workflow.world.troubles)


JOB = Job("ask_store", "asking the store whether it answers", every_s=5, run_once=run_once)
