"""A class of the operator's own is a tool like any other (design section 7)."""

from __future__ import annotations

import pytest

from bot.expected import StartFailed
from bot.tools.python import PythonTool
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.classes import PythonBench
from tests.contracts.tool_contract import Kind, ToolContract, call, done


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


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("Plain", {}, r"cannot be made \(TypeError"),
        ("Refuses", {}, r"cannot be made \(ZeroDivisionError at .*/tools_of_test_\d+\.py:\d+ in"),
        ("Away", {}, r"cannot be made \(ConnectionError at"),
        ("Idle", {}, r"has no execute\(call\)"),
        ("Misshapen", {}, r"must have execute as execute\(self, call\)"),
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


async def test_a_method_is_asked_for_what_its_decorator_takes(tmp_path):
    bench = PythonBench(tmp_path, "Wrapped", live={})

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.DONE


@pytest.mark.parametrize("name", ["AtOnce", "Forgets", "ComputedAtOnce", "AnyName"])
async def test_a_class_that_acts_at_once_may_have_a_commit(tmp_path, name):
    bench = PythonBench(tmp_path, name, live={})

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.DONE


@pytest.mark.parametrize("name", ["nowhere:X", "json:nothing", "json:loads"])
def test_what_is_no_class_is_refused_by_name(tmp_path, name):
    with pytest.raises(ValueError, match=name):
        PythonTool({"class": name}, tmp_path, {})
