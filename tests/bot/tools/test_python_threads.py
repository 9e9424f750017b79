"""What an operator's class begins in the loop has its own threads, and a burst of calls a place."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bot.process.forked import keep_from_copies
from bot.process.pool import started_pool
from bot.storage.lock import FileLock
from bot.tools.python import MOST_AT_ONCE, PythonTool
from bot.tools.threads import DaemonThreads
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.classes import PythonBench
from tests.contracts.tool_contract import call

WORKER = """
import asyncio
import os
import sys
import threading

class Tool:
    def __init__(self):
        self.worker = asyncio.get_running_loop().create_task(self.works())

    async def works(self):
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    def execute(self, call):
        return {}
"""


async def in_a_thread() -> dict[str, str]:
    return {"thread": await asyncio.to_thread(lambda: threading.current_thread().name)}


async def test_what_a_class_begins_as_it_is_made_has_threads_of_its_own(tmp_path):
    """One that hung there kept the bot from writing drafts, and from ending."""
    asyncio.get_running_loop().set_default_executor(started_pool())
    (tmp_path / "own_worker.py").write_text(WORKER)

    tool = PythonTool({"class": "own_worker:Tool"}, tmp_path, {})

    assert not (await tool._tool.worker).startswith("signoff-own")
    assert (await in_a_thread())["thread"].startswith("signoff-own")


async def test_what_a_plain_method_begins_in_the_loop_has_threads_of_its_own(tmp_path):
    loop = asyncio.get_running_loop()
    loop.set_default_executor(started_pool())

    def begins() -> dict[str, str]:
        return asyncio.run_coroutine_threadsafe(in_a_thread(), loop).result(20)

    bench = PythonBench(tmp_path, "HostileLater", does=begins)
    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.receipt == {"thread": "signoff-tool"}


async def test_calls_within_their_time_are_no_reason_to_refuse_one_more(tmp_path):
    """Fifty deployments that are approved at once are fifty, and none has failed."""
    begun = threading.Barrier(MOST_AT_ONCE + 18)

    def deploys() -> dict[str, int]:
        begun.wait(20)
        return {"id": 1}

    bench = PythonBench(tmp_path, "Hostile", does=deploys)
    asked = replace(call(bench, "execute"), limit_s=30)

    results = await asyncio.gather(*(call_tool(bench.tool, asked) for _ in range(begun.parties)))

    assert {each.outcome for each in results} == {Outcome.DONE}


async def test_of_more_calls_than_a_machine_has_threads_for_the_last_are_not_begun(tmp_path):
    go_on = threading.Event()
    bench = PythonBench(tmp_path, "Hostile", does=go_on.wait)
    asked = replace(call(bench, "execute"), limit_s=30)
    under_way = [asyncio.create_task(call_tool(bench.tool, asked)) for _ in range(129)]

    done, waiting = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
    go_on.set()
    await asyncio.gather(*waiting)

    ((refused,), in_time) = (done, len(waiting))
    assert (refused.result().outcome, in_time) == (Outcome.FAILED, 128)
    assert "are under way; this one was not begun" in refused.result().explanation


async def test_calls_for_which_there_is_no_memory_take_no_place_from_later_ones(
    tmp_path, monkeypatch
):
    """Once 128 had failed so, no call of that tool began any more until the bot's next start."""
    bench = PythonBench(tmp_path, "Hostile", does=lambda: {"id": 1})

    def no_memory(_thread: threading.Thread) -> None:
        raise MemoryError

    with monkeypatch.context() as scarce:
        scarce.setattr(threading.Thread, "start", no_memory)
        in_vain = [await call_tool(bench.tool, call(bench, "execute")) for _ in range(128)]
    result = await call_tool(bench.tool, call(bench, "execute"))

    assert {each.outcome for each in in_vain} == {Outcome.UNKNOWN}
    assert result.outcome is Outcome.DONE


async def test_a_class_whose_threads_all_hang_is_not_called(tmp_path):
    """Each further call waited for a thread until its time was over, and was in doubt."""
    asyncio.get_running_loop().set_default_executor(started_pool())
    begun, go_on = threading.Barrier(MOST_AT_ONCE + 1), threading.Event()

    async def hangs() -> dict[str, int]:
        await asyncio.to_thread(lambda: go_on.is_set() or (begun.wait(20), go_on.wait(20)))
        return {"id": 1}

    bench = PythonBench(tmp_path, "HostileAsync", does=hangs)
    asked = call(bench, "execute")
    hung = [asyncio.create_task(call_tool(bench.tool, asked)) for _ in range(MOST_AT_ONCE)]
    await asyncio.to_thread(begun.wait, 20)
    for each in hung:
        each.cancel()
    await asyncio.wait(hung)
    refused = await call_tool(bench.tool, asked)
    go_on.set()
    async with asyncio.timeout(20):
        while (later := await call_tool(bench.tool, asked)).outcome is Outcome.FAILED:
            pass

    assert (refused.outcome, later.outcome) == (Outcome.FAILED, Outcome.DONE)
    assert "does not return; this call was not begun" in refused.explanation


async def test_a_call_that_lacks_a_thread_on_its_way_is_not_told_as_never_begun(
    tmp_path, monkeypatch
):
    loop = asyncio.get_running_loop()
    loop.set_default_executor(started_pool())
    start, acts = threading.Thread.start, list[int]()

    async def acts_first() -> dict[str, str]:
        acts.append(1)
        return await in_a_thread()

    def starts(thread: threading.Thread) -> None:
        if thread.name == "signoff-tool":
            raise RuntimeError("can't start new thread")
        start(thread)

    def does() -> dict[str, str]:
        return asyncio.run_coroutine_threadsafe(acts_first(), loop).result(20)

    monkeypatch.setattr(threading.Thread, "start", starts)
    bench = PythonBench(tmp_path, "HostileLater", does=does)
    result = await call_tool(bench.tool, call(bench, "execute"))

    assert (acts, result.outcome) == ([1], Outcome.UNKNOWN)


async def test_a_process_that_a_plain_method_forks_ends_with_the_code_it_says(tmp_path):
    """It ended with 0 whatever it said, and its error was told to nobody."""
    keep_from_copies(FileLock(tmp_path / "any.db"))

    def forks() -> dict[str, int]:
        if not (copy := os.fork()):
            sys.exit(3)
        return {"code": os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])}

    bench = PythonBench(tmp_path, "HostileLater", does=forks)
    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.receipt == {"code": 3}


@pytest.mark.parametrize(("comes_back", "code"), [(int, 0), (partial(sys.exit, 3), 3)])
async def test_a_process_that_is_forked_in_a_thread_of_a_tool_does_nothing_that_waits_there(
    tmp_path: Path, comes_back: Callable[[], int], code: int
) -> None:
    """It came back to the thread, and went on with what other calls had given it to do."""
    keep_from_copies(FileLock(tmp_path / "any.db"))
    acts, threads = tmp_path / "acts", DaemonThreads(1)
    all_given = threading.Event()

    def forks() -> int:
        all_given.wait()
        if copy := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        return comes_back()

    def acting() -> None:
        with acts.open("a") as file:
            file.write("once")

    ends = [asyncio.wrap_future(threads.submit(each)) for each in (forks, acting)]
    all_given.set()
    ended, _ = await asyncio.gather(*ends)

    assert (acts.read_text(), ended) == ("once", code)
