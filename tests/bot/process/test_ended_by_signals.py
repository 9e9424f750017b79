"""A signal in the moment in which it ends the process at once ends it before anything begins, and
one that the loop cannot hear ends it in time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from bot.process.cut_short import ended_by_signals, ended_in_time, hear_anew, over_within
from tests.conftest import ROOT

#: Holds its loop up for ever; `_LAST_S` is ten seconds else.
HELD_UP = """
import asyncio, os, signal, sys, time
from bot.process import cut_short

cut_short._LAST_S = 0.1

async def main():
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, int)
    with cut_short.ended_in_time():
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(600)

asyncio.run(main())
"""


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_whose_loop_is_held_up_ends_in_time(number: int) -> None:
    words = [sys.executable, "-c", HELD_UP, str(int(number))]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == 1
    assert "The bot is held up, and ends in the middle" in ended.stderr


class Steps(threading.Event):
    """Over once it was waited for so many times, each of which takes as long as is told, and
    uses the processor all of it or not at all."""

    def __init__(self, *taken_s: float, works: bool) -> None:
        super().__init__()
        self._taken_s, self._works = list(taken_s), works
        self.now_s = self.worked_s = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        taken_s = self._taken_s.pop(0)
        self.now_s += taken_s
        self.worked_s += taken_s * self._works
        return not self._taken_s


@pytest.mark.parametrize(
    ("over", "in_time"),
    [
        (Steps(60.0, 0.5, 0.5, works=False), True),
        (Steps(0.5, 0.5, 0.5, 0.5, 0.5, works=False), False),
        (Steps(2.0, 0.5, works=True), False),
    ],
    ids=["stopped", "held up", "held up by what lets no thread run"],
)
def test_a_process_that_was_stopped_for_a_while_is_not_held_up(
    monkeypatch: pytest.MonkeyPatch, over: Steps, in_time: bool
) -> None:
    """SIGSTOP took from a bot that was told to end its end, which it was cut off from as it went
    on; and one that work in C held up for seconds at a time ended after half a minute."""
    clocks = SimpleNamespace(monotonic=lambda: over.now_s, process_time=lambda: over.worked_s)
    monkeypatch.setattr("bot.process.cut_short.time", clocks)

    assert over_within(1.8, over) is in_time


async def test_the_loop_hears_what_is_heard_apart_and_hears_it_again_after_others_did() -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, told.set)
    try:
        with ended_in_time():
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGUSR1)
                await told.wait()
                told.clear()
                signal.set_wakeup_fd(-1)
                hear_anew()
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)
