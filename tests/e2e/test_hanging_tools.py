"""A bot whose tools hang where Python would wait for them at its end ends all the same, and goes on
where a tool ends the program."""

from __future__ import annotations

import json
import signal
import time

import pytest
import yaml

from tests.processes import DEADLINE_S, Process

IN_A_POOL_OF_ITS_OWN = """
import time
from concurrent.futures import ThreadPoolExecutor

class Tool:
    def execute(self, call):
        with ThreadPoolExecutor() as pool:
            return pool.submit(time.sleep, 600).result()
"""
IN_THE_POOL_OF_THE_LOOP = """
import asyncio
import time

class Tool:
    async def execute(self, call):
        await asyncio.to_thread(time.sleep, 600)
        return {}
"""


AT_THE_END_OF_THE_PROCESS = """
import atexit
import time

atexit.register(time.sleep, 600)

class Tool:
    def execute(self, call):
        time.sleep(600)
"""
AS_IT_IS_MADE = """
from ctypes import CDLL
from pathlib import Path

class Tool:
    def __init__(self):
        Path("begun").touch()
        CDLL(None).sleep(600)  # of which no handler of Python's hears

    def execute(self, call):
        return {}
"""
HOLDS_UP_THE_LOOP = """
import time
from pathlib import Path

class Tool:
    async def execute(self, call):
        Path("begun").touch()
        time.sleep(600)
"""
ENDS_THE_PROGRAM = """
import asyncio
import sys

async def as_a_program_ends():
    sys.exit(3)

class Tool:
    async def execute(self, call):
        await asyncio.wait_for(as_a_program_ends(), 5)
"""
TAKES_THE_SIGNALS = """
import signal

class Tool:
    def __init__(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)

    def execute(self, call):
        pipes, programs = map(signal.getsignal, (signal.SIGPIPE, signal.SIGCHLD))
        return {"pipes": repr(pipes), "programs": repr(programs)}
"""


def with_a_tool(bot: Process, source: str, *, timeout_s: int = 1) -> None:
    """Let an operator's class serve `search`."""
    (bot.folder / "own_tool.py").write_text(source)
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    own = {"kind": "python", "class": "own_tool:Tool", "timeout_s": timeout_s}
    config["tools"]["search"] = {"tier": "AUTO", "action_type": "read", **own}
    path.write_text(yaml.safe_dump(config))


def begun(bot: Process) -> None:
    """Wait until the tool has begun."""
    late = time.monotonic() + DEADLINE_S
    while not (bot.folder / "begun").exists():
        assert time.monotonic() < late


@pytest.mark.parametrize(
    "source", [IN_A_POOL_OF_ITS_OWN, IN_THE_POOL_OF_THE_LOOP, AT_THE_END_OF_THE_PROCESS]
)
def test_a_bot_whose_tool_hangs_in_a_thread_ends_in_time(bot: Process, source: str) -> None:
    with_a_tool(bot, source)
    bot.start()

    answer = bot.answer("leila: propose @examples/search.json")
    bot.send(signal.SIGTERM)

    assert "did not answer within 1 s" in json.dumps(answer)
    assert bot.ends_within(10) == 0


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_bot_whose_tool_is_never_made_ends_when_it_is_told_to(
    bot: Process, told: signal.Signals
) -> None:
    """A server that did not answer a class as it was made kept the bot from hearing of its end."""
    with_a_tool(bot, AS_IT_IS_MADE)
    bot.start()
    begun(bot)
    bot.send(told)

    assert bot.ends_within(10) == 0
    assert "Told to end while the tools were being made" in bot.complaints()
    with_a_tool(bot, AS_IT_IS_MADE.replace("CDLL(None)", "# "))
    bot.start()
    assert bot.answer("leila: propose @examples/search.json")["state"] == "completed"


def test_a_bot_that_a_tool_holds_up_as_it_starts_ends_when_it_is_told_to(bot: Process) -> None:
    """What was under way at the last end is called again before the chats are there, and no signal
    was heard then."""
    with_a_tool(bot, HOLDS_UP_THE_LOOP)
    bot.start()
    bot.tell("leila: propose @examples/search.json")
    begun(bot)
    bot.kill()
    (bot.folder / "begun").unlink()
    bot.start()
    begun(bot)
    bot.send(signal.SIGTERM)

    assert bot.ends_within(12) == 1
    assert "The bot is held up" in bot.complaints()


def test_a_tool_that_ends_the_program_in_a_task_of_its_own_ends_its_call_alone(
    bot: Process,
) -> None:
    """It ended the bot, in the middle of whatever else was under way, with exit code 3."""
    with_a_tool(bot, ENDS_THE_PROGRAM)
    bot.start()

    answer = bot.answer("leila: propose @examples/search.json")
    bot.send(signal.SIGTERM)

    assert "search ended with SystemExit; what it did is not known" in answer["explanation"]
    assert bot.ends_within(10) == 0


def test_a_tool_that_takes_the_signals_keeps_no_bot_from_its_end(bot: Process) -> None:
    """As a class does that was written for a program of its own: SIGTERM ended nothing."""
    with_a_tool(bot, TAKES_THE_SIGNALS)
    bot.start()

    answer = bot.answer("leila: propose @examples/search.json")
    bot.send(signal.SIGTERM)

    assert "SIG_IGN" in json.dumps(answer)
    assert "SIG_DFL" in json.dumps(answer)
    assert bot.ends_within(10) == 0
