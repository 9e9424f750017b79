"""Tells the cancellation of our own task from a CancelledError that a library raises."""

from __future__ import annotations

import asyncio


def being_cancelled() -> bool:
    """Return True if somebody has cancelled the current task; call it on the loop.

    A library may raise CancelledError inside the task for reasons of its own (a session closed in
    the middle of a name lookup). If that were taken for our own end, a worker would end silently.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
