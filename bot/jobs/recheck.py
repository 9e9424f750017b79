"""Judge open proposals again after the policy changed."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


async def run_once(workflow: Workflow) -> None:
    """Judge again what was judged under another policy."""
    await workflow.recheck()


JOB = Job(
    "recheck", "checking what is open under the policy in force", every_s=1, run_once=run_once
)
