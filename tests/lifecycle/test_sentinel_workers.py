"""Sentinel waits for no rule that is late or hangs, and blocks nobody meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lifecycle.checking.rule_run import Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.verdict import PASSED, Verdict
from tests.builders import MAIL
from tests.checking import facts_for, read
from tests.lifecycle.laws import FOUND, ask, codes_in, law


@pytest.fixture
def until_the_end() -> Iterator[threading.Event]:
    """What a hanging rule waits for."""
    over = threading.Event()
    yield over
    over.set()


async def test_a_verdict_waits_for_no_late_rule(until_the_end: threading.Event) -> None:
    late = law("b", lambda: (until_the_end.wait(60), PASSED)[1], Level.ADVISORY)
    rules = [law("a", lambda: FOUND), late, law("c", lambda: FOUND), late, law("d", lambda: PASSED)]

    async with asyncio.timeout(5):
        verdict = await ask(*rules, limit_s=0.05)

    assert [[f.code for f in result.findings] for result in verdict.results] == [
        [FOUND.code],
        ["rule_timeout"],
        [FOUND.code],
        ["rule_timeout"],
        [],
    ]
    assert not verdict.passed
    assert [fault.level for fault in verdict.faults()] == ["hard"] * 4


async def test_a_late_answer_changes_no_verdict(until_the_end: threading.Event) -> None:
    answered = threading.Event()

    def answer() -> Any:
        until_the_end.wait(60)
        answered.set()
        return PASSED

    verdict = await ask(law("a", answer), limit_s=0.05)
    before = verdict.as_json()
    until_the_end.set()
    await asyncio.to_thread(answered.wait, 5)

    assert verdict.as_json() == before
    assert codes_in(verdict) == {"a": ["rule_timeout"]}


async def test_the_loop_goes_on_while_a_rule_computes(until_the_end: threading.Event) -> None:
    checking = asyncio.create_task(
        ask(law("a", lambda: (until_the_end.wait(60), PASSED)[1]), limit_s=30)
    )
    turns = 0
    while turns < 100:
        await asyncio.sleep(0)
        turns += 1
    assert not checking.done()
    until_the_end.set()

    assert (await checking).passed


async def test_a_check_that_nobody_waits_for_leaves_its_worker(
    until_the_end: threading.Event,
) -> None:
    workers = Workers(most=1)
    hanging = Sentinel(
        [law("a", lambda: (until_the_end.wait(60), PASSED)[1])], limit_s=30, workers=workers
    )
    quick = Sentinel([law("b", lambda: PASSED)], workers=workers)
    checking = asyncio.create_task(
        hanging.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")
    )
    await asyncio.sleep(0)
    checking.cancel()
    await asyncio.wait([checking])

    async with asyncio.timeout(5):
        verdict = await quick.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")

    assert verdict.passed


@pytest.mark.parametrize("beside", [1, 3, 50])
async def test_after_a_burst_a_rule_that_hangs_still_holds_up_no_check(
    until_the_end: threading.Event, beside: int
) -> None:
    """More checks at once than there are workers once left the pool believe that some were free."""
    workers = Workers()
    quick = Sentinel([law("b", lambda: PASSED)], workers=workers)
    hanging = Sentinel(
        [law("a", lambda: (until_the_end.wait(60), PASSED)[1]), law("b", lambda: PASSED)],
        limit_s=0.02,
        workers=workers,
    )

    async def verdict_of(sentinel: Sentinel) -> Verdict:
        return await sentinel.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")

    async with asyncio.timeout(10):
        await asyncio.gather(*(verdict_of(quick) for _ in range(beside)))
        late = await asyncio.gather(*(verdict_of(hanging) for _ in range(5)))
        after = await asyncio.gather(*(verdict_of(quick) for _ in range(beside)))

    assert [codes_in(verdict) for verdict in late] == [{"a": ["rule_timeout"], "b": []}] * 5
    assert all(verdict.passed for verdict in after)


async def test_what_waits_behind_a_rule_that_hangs_gets_a_worker_of_its_own(
    until_the_end: threading.Event,
) -> None:
    workers = Workers(most=1)
    hangs = law("a", lambda: (until_the_end.wait(60), PASSED)[1])
    hanging = Sentinel([hangs], limit_s=0.02, workers=workers)
    quick = Sentinel([law("b", lambda: PASSED)], workers=workers)
    asked = [
        each.check(read(MAIL), facts_for(MAIL), policy_digest="p") for each in (hanging, quick)
    ]

    async with asyncio.timeout(10):
        late, verdict = await asyncio.gather(*asked)

    assert codes_in(late) == {"a": ["rule_timeout"]}
    assert verdict.passed


async def test_a_check_that_no_worker_comes_to_is_refused_and_nobody_waits_for_ever(
    until_the_end: threading.Event,
) -> None:
    workers, times = Workers(most=1), iter([0.0])
    hanging = Sentinel(
        [law("a", lambda: (until_the_end.wait(60), PASSED)[1])], limit_s=30, workers=workers
    )
    behind = Sentinel(
        [law("b", lambda: PASSED), law("c", lambda: PASSED)],
        limit_s=0.01,
        ticks=lambda: next(times, 60.0),
        workers=workers,
    )
    checking = asyncio.create_task(hanging.check(read(MAIL), facts_for(MAIL), policy_digest="p"))
    await asyncio.sleep(0)

    async with asyncio.timeout(5):
        verdict = await behind.check(read(MAIL), facts_for(MAIL), policy_digest="p")
    until_the_end.set()
    await checking

    assert codes_in(verdict) == {"b": ["rule_timeout"], "c": ["rule_timeout"]}
    assert "too much to check" in str(verdict.faults()[0].suggestion)


async def test_where_no_thread_can_be_started_no_rule_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers = Workers()
    with monkeypatch.context() as machine:
        machine.setattr(threading.Thread, "start", refuse)
        verdict = await Sentinel([law("a", lambda: PASSED)], workers=workers).check(
            read(MAIL), facts_for(MAIL), policy_digest="p"
        )
    later = await Sentinel([law("a", lambda: PASSED)], workers=workers).check(
        read(MAIL), facts_for(MAIL), policy_digest="p"
    )

    assert codes_in(verdict) == {"a": ["rule_timeout"]}
    assert later.passed


@pytest.mark.parametrize("names", ["a", "xa", "ax", "xay"])
async def test_a_rule_that_hangs_everywhere_is_not_started_again(
    until_the_end: threading.Event, names: str
) -> None:
    """Behind another rule it was started in a new thread each time."""
    started = 0

    def hang() -> Any:
        nonlocal started
        started += 1
        until_the_end.wait(60)
        return PASSED

    laws = [law(name, hang if name == "a" else lambda: PASSED) for name in names]
    sentinel = Sentinel(laws, limit_s=0.05, workers=Workers())
    for _ in range(12):
        verdict = await sentinel.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")
        assert [result.rule for result in verdict.results] == list(names)
        assert codes_in(verdict)["a"] == ["rule_timeout"]

    assert started == 8


PROGRAM = """
import asyncio, threading
from lifecycle.verdict import PASSED
from tests.lifecycle.laws import ask, law
verdict = asyncio.run(ask(law("a", lambda: (threading.Event().wait(600), PASSED)[1]), limit_s=0.05))
print(verdict.reason)
"""


def test_a_hanging_rule_never_holds_up_the_end_of_the_process(root: Any) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, timeout=60, text=True
    )

    assert (ended.stdout.strip(), ended.returncode) == ("a", 0)
