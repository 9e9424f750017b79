"""Sentinel asks every rule, waits for none that is late, and blocks nobody meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lifecycle.policy import Level
from lifecycle.rule_run import Workers
from lifecycle.sentinel import LoadedRule
from lifecycle.sentinel_run import Sentinel
from lifecycle.verdict import PASSED, Finding, Verdict
from tests.builders import MAIL, NOW_MS
from tests.checking import facts_for, read, the_sentinel

FOUND = Finding("prohibited_phrase", "parameters.body", "Leave it out.")


class OneLaw:
    """A rule that answers what it is told to."""

    version = 1
    summary = "A law of a test."

    def __init__(self, name: str, answer: Callable[[], Any], *, applies: Any = True) -> None:
        self.id = name
        self._answer = answer
        self._applies = applies

    def applies_to(self, proposal: Any, facts: Any) -> Any:
        return self._applies() if callable(self._applies) else self._applies

    def check(self, proposal: Any, facts: Any) -> Any:
        return self._answer()


def law(
    name: str, answer: Callable[[], Any], level: Level = Level.HARD, applies: Any = True
) -> LoadedRule:
    return LoadedRule(OneLaw(name, answer, applies=applies), level)  # type: ignore[arg-type]


@pytest.fixture
def until_the_end() -> Iterator[threading.Event]:
    """What a hanging rule waits for."""
    over = threading.Event()
    yield over
    over.set()


async def ask(*rules: LoadedRule, **options: Any) -> Verdict:
    sentinel = Sentinel(rules, workers=Workers(), **options)
    return await sentinel.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")


def codes_in(verdict: Verdict) -> dict[str, list[str]]:
    return {result.rule: [f.code for f in result.findings] for result in verdict.results}


async def test_a_verdict_tells_when_and_under_which_policy() -> None:
    verdict = await ask(law("a", lambda: PASSED), law("b", lambda: FOUND))

    assert verdict.at_ms == NOW_MS
    assert verdict.policy_digest == "pol1_x"
    assert codes_in(verdict) == {"a": [], "b": ["prohibited_phrase"]}


async def test_all_findings_of_a_rule_are_kept() -> None:
    assert codes_in(await ask(law("a", lambda: (FOUND, FOUND)))) == {"a": [FOUND.code] * 2}


@pytest.mark.parametrize(
    "answer",
    [None, True, False, 0, "", "passed", (), [], [FOUND], (FOUND, None), {}, object(), Finding,
     Finding("", "", ""), Finding(None, "", ""), Finding("x", "", "", "hard")],
)  # fmt: skip
async def test_any_other_answer_is_an_error(answer: Any) -> None:
    verdict = await ask(law("a", lambda: answer, Level.ADVISORY), law("b", lambda: PASSED))

    assert codes_in(verdict) == {"a": ["rule_error"], "b": []}
    assert not verdict.passed


@pytest.mark.parametrize(
    "error", [KeyError, MemoryError, RecursionError, SystemExit, GeneratorExit, StopIteration,
              asyncio.CancelledError, KeyboardInterrupt]
)  # fmt: skip
async def test_whatever_a_rule_raises_is_an_error_without_its_words(
    error: type[BaseException],
) -> None:
    def fail() -> Any:
        raise error("hunter2")

    verdict = await ask(law("a", fail, Level.SOFT), law("b", lambda: PASSED))

    (fault,) = verdict.faults()
    assert (fault.rule, fault.code, fault.level) == ("a", "rule_error", "hard")
    assert error.__name__ in str(fault.suggestion)
    assert "hunter2" not in str(fault)


@pytest.mark.parametrize("applies", [None, 1, "no", lambda: 1 / 0])
async def test_a_rule_that_cannot_say_whether_it_applies_did_not_pass(applies: Any) -> None:
    assert codes_in(await ask(law("a", lambda: PASSED, applies=applies))) == {"a": ["rule_error"]}


async def test_a_law_that_does_not_concern_a_proposal_holds() -> None:
    assert codes_in(await ask(law("a", lambda: FOUND, applies=False))) == {"a": []}


@pytest.mark.parametrize(
    ("level", "own", "counted"),
    [
        (Level.HARD, None, "hard"),
        (Level.HARD, Level.SOFT, "soft"),
        (Level.SOFT, Level.HARD, "soft"),
        (Level.ADVISORY, Level.SOFT, "advisory"),
    ],
)
async def test_a_finding_is_softer_than_its_rule_and_never_harder(
    level: Level, own: Level | None, counted: str
) -> None:
    verdict = await ask(law("a", lambda: Finding("x", "", "", own), level))

    assert [fault.level for fault in verdict.faults()] == [counted]


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


async def test_each_rule_has_its_own_time() -> None:
    clock = iter(range(1000))
    rules = [law(str(n), lambda: PASSED) for n in range(30)]

    verdict = await ask(*rules, limit_s=2.0, ticks=lambda: next(clock) * 0.5)

    assert verdict.passed
    assert len(verdict.results) == 30


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


async def test_many_checks_run_beside_each_other() -> None:
    sentinel = the_sentinel()
    asked = (sentinel.check(read(MAIL), facts_for(MAIL), policy_digest=f"p{n}") for n in range(200))

    verdicts = await asyncio.gather(*asked)

    assert [verdict.policy_digest for verdict in verdicts] == [f"p{n}" for n in range(200)]
    assert all(len(verdict.results) == 9 and verdict.passed for verdict in verdicts)


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


async def test_a_rule_that_hangs_everywhere_is_not_started_again(
    until_the_end: threading.Event,
) -> None:
    started = 0

    def hang() -> Any:
        nonlocal started
        started += 1
        until_the_end.wait(60)
        return PASSED

    sentinel = Sentinel([law("a", hang)], limit_s=0.01, workers=Workers())
    for _ in range(12):
        verdict = await sentinel.check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")
        assert codes_in(verdict) == {"a": ["rule_timeout"]}

    assert started == 8


async def test_only_some_rules_may_be_asked_again() -> None:
    verdict = await the_sentinel().check(
        read(MAIL),
        facts_for(MAIL),
        policy_digest="pol1_x",
        subset={"preconditions_hold", "secrets_absent"},
    )

    assert [result.rule for result in verdict.results] == ["secrets_absent", "preconditions_hold"]


async def test_both_ways_to_ask_give_the_same_verdict() -> None:
    sentinel, document, facts = the_sentinel(), read(MAIL), facts_for(MAIL)

    assert await sentinel.check(document, facts, policy_digest="p") == sentinel.check_now(
        document, facts, policy_digest="p"
    )


PROGRAM = """
import asyncio, threading
from tests.lifecycle.test_sentinel_run import ask, law, PASSED
verdict = asyncio.run(ask(law("a", lambda: (threading.Event().wait(600), PASSED)[1]), limit_s=0.05))
print(verdict.reason)
"""


def test_a_hanging_rule_never_holds_up_the_end_of_the_process(root: Any) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, timeout=60, text=True
    )

    assert (ended.stdout.strip(), ended.returncode) == ("a", 0)
