"""What a job is: a name, a pace, and one round of work on the running bot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from lifecycle.ports import Notifier


class Duties(Protocol):
    """The verbs of the workflow that nobody asks for; each returns how many it concerned."""

    @property
    def notifier(self) -> Notifier:
        """The surfaces."""

    async def close_due(self) -> int:
        """Close the windows that are due."""

    async def expire_due(self) -> int:
        """Reject what is past its deadline."""

    async def open_ready(self) -> int:
        """Begin what was approved and could not begin before."""

    async def recover(self) -> int:
        """Take up what a process that died has left."""

    async def remind(self) -> int:
        """Remind people once of what waits for them."""

    async def anchor(self) -> int:
        """Tell every surface the head of the audit trail, once a day."""

    async def recheck(self) -> int:
        """Judge again what was last judged under another policy."""


@dataclass(frozen=True, slots=True)
class Job:
    """One named job: `run_once` every `every_s` seconds, never twice at a time."""

    name: str
    every_s: float
    run_once: Callable[[Duties], Awaitable[int]]
