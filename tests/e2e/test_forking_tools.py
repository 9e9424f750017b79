"""What a tool tells the processes that it forks is not told to the bot."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.test_hanging_tools import with_a_tool
from tests.processes import Process

AS_IT_IS_MADE = """
import multiprocessing

class Tool:
    def __init__(self):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.apply(abs, [1])
            keep_busy(pool)

    def execute(self, call):
        return {"reports": "none"}
"""
AS_IT_IS_CALLED = """
import multiprocessing

class Tool:
    def execute(self, call):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.apply(abs, [1])
            keep_busy(pool)
        return {"reports": "none"}
"""
#: The end of the pool tells its processes to end, by SIGTERM, of which one is still at work.
BUSY = """
import time

def keep_busy(pool):
    try:
        pool.apply_async(time.sleep, [10]).get(timeout=0.1)
    except multiprocessing.TimeoutError:
        return
    raise AssertionError
"""


@pytest.mark.parametrize("source", [AS_IT_IS_MADE, AS_IT_IS_CALLED])
def test_a_tool_that_ends_its_own_processes_does_not_end_the_bot(bot: Process, source: str) -> None:
    """It ended, without a word and with exit code 0, in the middle of the call."""
    with_a_tool(bot, source + BUSY, timeout_s=30)
    bot.start()

    answer = bot.answer("leila: propose @examples/search.json")
    still_there = bot.ask("pending")
    bot.send(signal.SIGTERM)

    assert answer["state"] == "completed"
    assert still_there == ["0 pending"]
    assert bot.ends_within(10) == 0
