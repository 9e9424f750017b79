"""Nothing that a program began survives its call (design section 7)."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psutil
import pytest

from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.shell import Shell, outcome_of
from tests.contracts.tool_contract import call

#: Longer than any test, and known as one of this very process: others may run the same tests.
NAP = f"sleep 600.{os.getpid()}"


#: A killed process ends when the kernel next looks at it, on a busy machine a moment later.
DYING_S = 5.0


def alive(mark: str) -> list[int]:
    """Return the processes whose command line holds a mark of ours, once the killed have ended."""
    until = time.monotonic() + DYING_S
    while (found := _seen(mark)) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def _seen(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if mark in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.parametrize(
    "line",
    [
        "NAP",
        "NAP & NAP",
        "trap '' TERM; (trap '' TERM; NAP) & while :; do sleep 0.05; done",
    ],
)
async def test_a_time_limit_kills_the_whole_group(tmp_path, line):
    result = await outcome_of(line.replace("NAP", NAP), tmp_path, limit_s=0.2)

    assert result.outcome is Outcome.UNKNOWN
    assert alive(NAP) == []


async def test_what_a_program_leaves_running_is_killed_when_it_ends(tmp_path):
    result = await outcome_of(f"{NAP} & (trap '' TERM HUP; {NAP}) & exit 0", tmp_path)

    assert result.outcome is Outcome.DONE
    assert alive(NAP) == []


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_a_cancellation_at_any_moment_leaves_nothing_running(tmp_path, turns):
    bench = Shell(f"{NAP} & {NAP}", tmp_path)
    task = asyncio.create_task(call_tool(bench.tool, call(bench, "execute")))
    for _ in range(turns):
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert alive(NAP) == []


async def test_a_program_may_end_in_peace_when_it_is_told_to(tmp_path):
    line = "trap 'touch ended; exit 0' TERM; touch began; while :; do sleep 0.02; done"

    await outcome_of(line, tmp_path, limit_s=0.5)

    assert (tmp_path / "ended").exists()


async def test_a_program_whose_exit_code_is_lost_is_in_doubt(tmp_path):
    """It was waited for without end; without `os.waitid` it was told as done."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = await outcome_of("exit 10", tmp_path)
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert result.outcome is Outcome.UNKNOWN
