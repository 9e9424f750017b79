"""Sentinel asks every rule, and what did not pass is a finding."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.sentinel import said
from lifecycle.verdict import PASSED, Finding
from tests.builders import MAIL, NOW_MS
from tests.checking import every_rule, facts_for, read, the_sentinel
from tests.lifecycle.laws import FOUND, ask, codes_in, law


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


def test_a_rule_says_a_hundred_findings_and_soft_ones_never_stand_in_the_way_of_firm_ones() -> None:
    soft, firm = replace(FOUND, level=Level.ADVISORY), replace(FOUND, level=None)

    assert said([soft] * 150 + [firm] * 2) == (soft,) * 100 + (firm,) * 2
    assert said([firm] * 150 + [soft]) == (firm,) * 100
    assert said([firm, soft, firm]) == (firm, soft, firm)
    assert said([]) is PASSED


async def test_each_rule_has_its_own_time() -> None:
    clock = iter(range(1000))
    rules = [law(str(n), lambda: PASSED) for n in range(30)]

    verdict = await ask(*rules, limit_s=2.0, ticks=lambda: next(clock) * 0.5)

    assert verdict.passed
    assert len(verdict.results) == 30


async def test_many_checks_run_beside_each_other() -> None:
    sentinel = Sentinel(the_sentinel().rules, limit_s=30.0)  # the machine may be busy otherwise
    asked = (sentinel.check(read(MAIL), facts_for(MAIL), policy_digest=f"p{n}") for n in range(200))

    verdicts = await asyncio.gather(*asked)

    assert [verdict.policy_digest for verdict in verdicts] == [f"p{n}" for n in range(200)]
    assert all(len(verdict.results) == 9 and verdict.passed for verdict in verdicts)


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

    verdict = await sentinel.check(document, facts, policy_digest="pol1_x")

    assert verdict == every_rule(sentinel, document, facts)
