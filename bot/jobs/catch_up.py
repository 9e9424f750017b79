"""Reads decisions that were made on cards while the bot was away, before any window closes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bot.jobs.job import Job
from lifecycle.workflow import Workflow


@runtime_checkable
class CatchesUp(Protocol):
    """A notifier whose surfaces keep decisions while nobody reads them."""

    async def catch_up(self) -> int:
        """Read the cards of surfaces that had a gap; return how many decisions were found."""


async def run_once(workflow: Workflow) -> int:
    """Read what was missed; a surface without a gap costs nothing."""
    notifier = workflow.world.notifier
    return await notifier.catch_up() if isinstance(notifier, CatchesUp) else 0


JOB = Job("catch_up", "reading what the surfaces kept", every_s=5, run_once=run_once)
