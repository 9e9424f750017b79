"""A class of the operator's own is a tool like any other (design section 7)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import sys
import threading
from dataclasses import replace
from itertools import count
from types import MappingProxyType

import pytest

from bot.expected import StartFailed
from bot.tools.python import MOST_AT_ONCE, PythonTool
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.contracts.tool_contract import Kind, ToolContract, call, done

CLASSES = """
from lifecycle.ports import ToolFailed

class Plain:
    reversible = True

    def __init__(self, live):
        self.live = live

    def execute(self, call):
        if "version" not in call.parameters:
            raise ToolFailed("version is missing")
        self.live[call.proposal_id] = 1
        return {"id": call.proposal_id}

    def roll_back(self, call):
        self.live.pop(call.proposal_id, None)
        return {}

class Waits(Plain):
    deferred = True

    def __init__(self, live, staged):
        self.live, self.staged = live, staged

    async def execute(self, call):
        if "version" not in call.parameters:
            raise ToolFailed("version is missing")
        self.staged[call.proposal_id] = 1
        return {"id": call.proposal_id}

    async def commit(self, call):
        self.staged.pop(call.proposal_id, None)
        self.live[call.proposal_id] = 1
        return {}

    async def roll_back(self, call):
        self.staged.pop(call.proposal_id, None)
        return {}

class Keeps(Plain):
    deferred = True

class Halfway(Keeps):
    reversible = False

    def commit(self, call):
        return {}

class Forgets(Halfway):
    reversible = True
    deferred = None

class AtOnce(Forgets):
    deferred = False

class Made(Forgets):
    def __init__(self, live):
        super().__init__(live)
        self.deferred = True

class Computed(Forgets):
    @property
    def deferred(self):
        return True

class One(Forgets):
    deferred = 1

class ComputedAtOnce(Forgets):
    @property
    def deferred(self):
        return False

class AnyName:
    def __init__(self, live):
        pass

    def __getattr__(self, name):
        return lambda call: {}

class OneWay:
    def execute(self, call):
        return None

class Hostile:
    def __init__(self, does):
        self.does = does

    def execute(self, call):
        self.does()
        return {}

class HostileAsync(Hostile):
    async def execute(self, call):
        return await self.does()

class HostileLater(Hostile):
    def execute(self, call):
        return self.does()

class Refuses(OneWay):
    def __init__(self):
        1 / 0

class Idle:
    pass

class Boasts(OneWay):
    reversible = True

no_class = 1
"""
NUMBERS = count()


class PythonBench:
    parameters = MappingProxyType({"version": "1"})
    failing = MappingProxyType({})

    def __init__(self, folder, name: str, **options) -> None:
        module = f"tools_of_test_{next(NUMBERS)}"
        (folder / f"{module}.py").write_text(CLASSES)
        self.options = options
        self.tool = PythonTool({"class": f"{module}:{name}", "options": options}, folder)

    def acts(self) -> int:
        return len(self.options["live"])

    def staged(self) -> int:
        return len(self.options.get("staged", ()))


class TestPlainMethods(ToolContract):
    kind = Kind(reversible=True, deferred=False, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return PythonBench(tmp_path, "Plain", live={})


class TestAsyncMethods(ToolContract):
    kind = Kind(reversible=True, deferred=True, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return PythonBench(tmp_path, "Waits", live={}, staged={})


async def test_a_class_without_roll_back_says_so_and_does_nothing(tmp_path):
    bench = PythonBench(tmp_path, "OneWay")

    result = await call_tool(bench.tool, call(bench, "roll_back", {}))

    assert result.outcome is Outcome.FAILED
    assert (await done(bench, "commit", {})).receipt == {}


async def test_a_class_that_returns_no_receipt_is_unknown(tmp_path):
    bench = PythonBench(tmp_path, "OneWay")

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.UNKNOWN


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


@pytest.mark.parametrize("does", [lambda: None, leaves])
async def test_calls_that_have_ended_take_no_place_from_later_ones(tmp_path, does):
    bench = PythonBench(tmp_path, "Hostile", does=does)
    asked = call(bench, "execute")

    found = [await call_tool(bench.tool, asked) for _ in range(MOST_AT_ONCE + 1)]

    assert Outcome.FAILED not in [each.outcome for each in found]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("Plain", {}, r"cannot be made \(TypeError"),
        ("Refuses", {}, r"cannot be made \(ZeroDivisionError at .*/tools_of_test_\d+\.py:\d+ in"),
        ("Idle", {}, r"has no execute\(call\)"),
        ("Boasts", {}, r"says that it is reversible, and has no roll_back\(call\)"),
        ("Keeps", {"live": {}}, r"says that it is deferred, and has no commit\(call\)"),
        ("Halfway", {"live": {}}, "says that it is deferred, and not that it is reversible"),
        ("Made", {"live": {}}, "is deferred, and its class does not say deferred = True"),
        ("Computed", {"live": {}}, "is deferred, and its class does not say deferred = True"),
        ("One", {"live": {}}, "is deferred, and its class does not say deferred = True"),
    ],
)
def test_a_class_that_can_be_no_tool_stops_the_start_with_a_sentence(
    tmp_path, name, options, words
):
    with pytest.raises(StartFailed, match=words):
        PythonBench(tmp_path, name, **options)


@pytest.mark.parametrize("name", ["AtOnce", "Forgets", "ComputedAtOnce", "AnyName"])
async def test_a_class_that_acts_at_once_may_have_a_commit(tmp_path, name):
    bench = PythonBench(tmp_path, name, live={})

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.DONE


@pytest.mark.parametrize("name", ["nowhere:X", "json:nothing", "json:loads"])
def test_what_is_no_class_is_refused_by_name(tmp_path, name):
    with pytest.raises(ValueError, match=name):
        PythonTool({"class": name}, tmp_path)
