"""A job has a name, a pace, and one round of work on the running bot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lifecycle.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Job:
    """One named job: `run_once` runs every `every_s` seconds, never twice at a time.

    `doing` tells people what is left undone while it fails, as in "closing the windows that are
    due".
    """

    name: str
    doing: str
    every_s: float
    run_once: Callable[[Workflow], Awaitable[object]]
