"""Brings stops that the store could not take through the door, before anything else runs."""

from __future__ import annotations

from bot.jobs.job import Job
from lifecycle.keeping import Keeper


async def run_once(keeper: Keeper) -> int:
    """Replay what the spool holds; return how many stops were settled."""
    return await keeper.replay_spool()


JOB = Job("replay_stops", every_s=1, run_once=run_once)
