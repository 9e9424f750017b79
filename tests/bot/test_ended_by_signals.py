"""A signal in the moment in which it ends the process at once ends it before anything begins."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

from bot.cut_short import ended_by_signals


async def test_a_signal_at_the_very_end_of_that_moment_is_heard_before_anything_begins() -> None:
    """What was left over began meanwhile, and was cut off by the end a moment later."""
    loop, told = asyncio.get_running_loop(), threading.Event()
    loop.add_signal_handler(signal.SIGTERM, told.clear)
    heard: list[bool] = []
    try:
        for _ in range(50):
            told.clear()
            with ended_by_signals(told.set):
                os.kill(os.getpid(), signal.SIGTERM)
            heard.append(told.is_set())
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

    assert all(heard)


def test_a_process_that_was_forked_in_that_moment_holds_nothing_up() -> None:
    """A class may have made itself a pool of processes, which live on with all that was open."""
    waits, ends = os.pipe()
    try:
        with ended_by_signals(int):
            if not (copy := os.fork()):
                os.close(ends)
                os.read(waits, 1)
                os._exit(0)
    finally:
        os.close(ends)
        os.close(waits)

    assert os.waitpid(copy, 0) == (copy, 0)
