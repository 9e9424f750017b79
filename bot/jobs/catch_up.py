"""Read decisions that were made on cards while the bot was away, before any window closes."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Read what was missed; a surface without a gap costs nothing."""
    await workflow.world.notifier.catch_up()


JOB = Job("catch_up", "reading what the surfaces kept", every_s=5, run_once=run_once)
