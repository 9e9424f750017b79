"""Telling the end of our own task from a cancellation that comes out of a library."""

from __future__ import annotations

import asyncio


def being_cancelled() -> bool:
    """Say whether somebody ends the current task.

    A library may raise CancelledError inside the task for reasons of its own (a session closed in
    the middle of a name lookup). Taken for our own end, that would end a worker in silence.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
