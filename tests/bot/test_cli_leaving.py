"""The last moment of a process: its exit code is what was done, whoever is in a hurry."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from bot.process.cut_short import left_s
from tests.conftest import ROOT

LEAVES = """
import atexit
from bot.cli.leaving import leave

def ends():
    print("ending", flush=True)
    input()

atexit.register(ends)
leave(3)
"""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_the_last_moment_takes_no_exit_code(told: signal.Signals) -> None:
    """What an impatient second Ctrl-C got was a traceback, and answers cut off."""
    with subprocess.Popen(
        [sys.executable, "-c", LEAVES],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ending\n"
        process.send_signal(told)
        _, errors = process.communicate(b"\n", timeout=60)

    assert (process.returncode, errors) == (3, b"")


def test_the_last_moment_is_no_longer_than_what_is_left_of_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls that used their grace up and a reader that had stopped took 12 s together."""
    monkeypatch.setattr("bot.process.cut_short._told", [])
    assert left_s(3.0) == 3.0
    monkeypatch.setattr("bot.process.cut_short._told", [time.monotonic()])
    assert left_s(3.0) == 3.0
    monkeypatch.setattr("bot.process.cut_short._told", [time.monotonic() - 9.0, time.monotonic()])
    assert left_s(3.0) <= 0.7
    monkeypatch.setattr("bot.process.cut_short._told", [time.monotonic() - 60.0])
    assert left_s(3.0) == 0
