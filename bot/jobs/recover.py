"""Takes up what a process that died has left: calls without an answer, unchecked proposals."""

from __future__ import annotations

from bot.jobs.job import Duties, Job


async def run_once(duties: Duties) -> int:
    """Take up what was left; return how many proposals that concerned."""
    return await duties.recover()


JOB = Job("recover", every_s=5, run_once=run_once)
