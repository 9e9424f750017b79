"""A class of the operator's own that hangs, leaves, or does to its task what it likes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import sys
import threading
from dataclasses import replace

import pytest

from bot.process.pool import started_pool
from bot.tools.apart import apart
from bot.tools.python import MOST_AT_ONCE
from bot.tools.threads import DaemonThreads
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.classes import PythonBench
from tests.contracts.tool_contract import call


def leaves() -> None:
    sys.exit(3)


def cancels() -> None:
    raise concurrent.futures.CancelledError


def stops() -> None:
    raise StopIteration


def closes() -> None:
    raise GeneratorExit


@pytest.mark.parametrize("does", [leaves, cancels, stops, closes])
async def test_a_tool_that_ends_the_program_ends_its_call_alone(tmp_path, does):
    bench = PythonBench(tmp_path, "Hostile", does=does)

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.UNKNOWN


class Logged(logging.Handler):
    """Waits for words in the log of threads and tasks."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words, self.seen = words, asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self.seen.set()

    async def __aenter__(self) -> None:
        logging.getLogger("bot.tools.threads").addHandler(self)

    async def __aexit__(self, *_) -> None:
        async with asyncio.timeout(10):
            await self.seen.wait()
        logging.getLogger("bot.tools.threads").removeHandler(self)


async def leaves_later() -> None:
    sys.exit(3)


async def closes_later() -> None:
    raise GeneratorExit


async def cancels_its_own_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


@pytest.mark.parametrize("name", ["HostileAsync", "HostileLater"])
@pytest.mark.parametrize("does", [leaves_later, closes_later, cancels_its_own_task])
async def test_what_a_coroutine_does_to_its_task_it_does_to_its_call_alone(tmp_path, name, does):
    bench = PythonBench(tmp_path, name, does=does)

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.UNKNOWN


async def test_a_coroutine_that_will_not_end_is_unknown_and_no_end_waits_for_it(
    tmp_path, monkeypatch
):
    go_on, told_to_end = asyncio.Event(), []

    async def will_not_end() -> None:
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                told_to_end.append(1)

    monkeypatch.setattr("bot.tools.apart._GRACE_S", 0.05)
    bench = PythonBench(tmp_path, "HostileAsync", does=will_not_end)
    before = asyncio.all_tasks()

    result = await call_tool(bench.tool, replace(call(bench, "execute"), limit_s=0.05))
    waited_for = asyncio.all_tasks() - before
    async with Logged("the-tool execute of p1 ended with an answer, when nobody waited"):
        go_on.set()

    assert result.outcome is Outcome.UNKNOWN
    assert "did not answer within" in result.explanation
    assert (told_to_end, waited_for) == ([1], set())


async def test_how_a_plain_call_ends_that_nobody_waits_for_any_more_is_logged(tmp_path, caplog):
    go_on = threading.Event()

    def ends_later() -> None:
        go_on.wait()
        raise ValueError("postgres://u:pw@h/d")

    bench = PythonBench(tmp_path, "Hostile", does=ends_later)
    result = await call_tool(bench.tool, replace(call(bench, "execute"), limit_s=0.05))
    async with Logged("the-tool execute of p1 ended with ValueError, when nobody waited"):
        go_on.set()

    assert result.outcome is Outcome.UNKNOWN
    assert "pw" not in caplog.text


async def test_what_a_coroutine_answers_when_it_is_told_to_end_is_taken(tmp_path):
    async def answers() -> dict[str, int]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"id": 7}

    bench = PythonBench(tmp_path, "HostileAsync", does=answers)
    result = await call_tool(bench.tool, replace(call(bench, "execute"), limit_s=0.05))

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"id": 7})


async def test_tools_that_hang_hold_up_nobody_else_and_no_more_of_them_begin(tmp_path):
    go_on = threading.Event()
    bench = PythonBench(tmp_path, "Hostile", does=go_on.wait)
    hanging = replace(call(bench, "execute"), limit_s=0.05)

    outcomes = [
        each.outcome
        for each in await asyncio.gather(
            *(call_tool(bench.tool, hanging) for _ in range(MOST_AT_ONCE))
        )
    ]
    one_more = await call_tool(bench.tool, hanging)
    ours = await asyncio.to_thread(lambda: "the loop's own pool is free")
    go_on.set()

    assert outcomes == [Outcome.UNKNOWN] * MOST_AT_ONCE
    assert one_more.outcome is Outcome.FAILED
    assert ours


async def test_coroutines_that_hang_in_threads_leave_our_own_threads_free():
    """A draft could not be written any more, and a long proposal not be read."""
    go_on = threading.Event()
    asyncio.get_running_loop().set_default_executor(started_pool())
    threads = DaemonThreads(MOST_AT_ONCE)

    async def hangs() -> None:
        await asyncio.to_thread(go_on.wait)

    async with asyncio.TaskGroup() as hanging:
        for _ in range(MOST_AT_ONCE + 1):
            hanging.create_task(apart(hangs(), "one that hangs", threads))
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            ours = await asyncio.to_thread(lambda: threading.current_thread().name)
        go_on.set()

    assert ours.startswith("signoff-own")


async def test_what_a_coroutine_does_in_threads_is_answered_and_raised_as_ever(tmp_path):
    asyncio.get_running_loop().set_default_executor(started_pool())

    async def divides() -> dict[str, float]:
        halves = await asyncio.gather(*(asyncio.to_thread(lambda n=n: 1 / n) for n in (1, 2, 4)))
        try:
            await asyncio.to_thread(lambda: 1 / 0)
        except ZeroDivisionError:
            return {"sum": sum(halves)}

    bench = PythonBench(tmp_path, "HostileAsync", does=divides)

    assert (await call_tool(bench.tool, call(bench, "execute"))).receipt == {"sum": 1.75}


@pytest.mark.parametrize("name", ["HostileAsync", "HostileLater"])
async def test_of_coroutines_that_will_not_end_no_more_begin_either(tmp_path, monkeypatch, name):
    """Each that polls goes on polling: in their hundreds they take the whole processor."""
    go_on, begun = asyncio.Event(), []

    async def will_not_end() -> None:
        begun.append(1)
        while not go_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go_on.wait()

    monkeypatch.setattr("bot.tools.apart._GRACE_S", 0.05)
    bench = PythonBench(tmp_path, name, does=will_not_end)
    asked = replace(call(bench, "execute"), limit_s=0.05)
    await asyncio.gather(*(call_tool(bench.tool, asked) for _ in range(MOST_AT_ONCE)))

    one_more = await call_tool(bench.tool, asked)
    async with Logged("the-tool execute of p1 ended with an answer, when nobody waited"):
        go_on.set()

    assert (one_more.outcome, len(begun)) == (Outcome.FAILED, MOST_AT_ONCE)
    assert (await call_tool(bench.tool, asked)).outcome is not Outcome.FAILED


async def test_an_asyncio_that_lets_go_of_no_task_puts_nothing_untrue_on_record(
    tmp_path, monkeypatch
):
    go_on = asyncio.Event()

    async def will_not_end() -> None:
        while not go_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go_on.wait()

    monkeypatch.delattr(asyncio.tasks, "_unregister_task")
    monkeypatch.setattr("bot.tools.apart._GRACE_S", 0.05)
    bench = PythonBench(tmp_path, "HostileAsync", does=will_not_end)
    result = await call_tool(bench.tool, replace(call(bench, "execute"), limit_s=0.05))
    async with Logged("the-tool execute of p1 ended with an answer, when nobody waited"):
        go_on.set()

    assert "did not answer within" in result.explanation


@pytest.mark.parametrize("does", [lambda: None, leaves])
async def test_calls_that_have_ended_take_no_place_from_later_ones(tmp_path, does):
    bench = PythonBench(tmp_path, "Hostile", does=does)
    asked = call(bench, "execute")

    found = [await call_tool(bench.tool, asked) for _ in range(MOST_AT_ONCE + 1)]

    assert Outcome.FAILED not in [each.outcome for each in found]
