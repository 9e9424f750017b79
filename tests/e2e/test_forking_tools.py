"""What a tool tells the processes that it forks is not told to the bot, and none of them acts
beside the bot that comes after it."""

from __future__ import annotations

import os
import signal

import pytest

from tests.e2e.test_hanging_tools import with_a_tool
from tests.e2e.test_left_running import begun, lives
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
ACTS_IN_A_COPY = """
import multiprocessing, os, time

def act():
    with open("begun", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(600)

class Tool:
    def execute(self, call):
        acting = multiprocessing.get_context("fork").Process(target=act)
        acting.start()
        acting.join()
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


def test_a_call_is_made_again_only_when_what_the_first_one_forked_is_dead(bot: Process) -> None:
    """Both acted at once: what a killed bot has forked holds its lock no more."""
    with_a_tool(bot, ACTS_IN_A_COPY, timeout_s=300)
    bot.start()
    bot.tell("leila: propose @examples/search.json")
    (first,) = begun(bot.folder, 1)
    assert bot.process is not None
    os.kill(bot.process.pid, signal.SIGKILL)  # not the group, of which the copy is
    bot.process.wait()
    assert lives(first)

    bot.start()
    bot.ask("status")

    assert not lives(first)
