"""Small documents are judged in the unit that asks: the same verdict, or none at all."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import orjson
import pytest

from lifecycle.checking.rule_cases import options_of, world_of
from lifecycle.checking.rule_run import Workers
from lifecycle.checking.sentinel_run import _SMALL_BYTES, Sentinel
from lifecycle.policy import Level
from lifecycle.records import EvidencePacket
from lifecycle.sentinel import Facts, LoadedRule, RuleCase
from lifecycle.verdict import PASSED, Verdict
from sentinel_rules import load_rules
from tests.builders import MAIL, NOW_MS, PROD, a_document, the_rules
from tests.checking import every_rule, facts_for, read
from tests.lifecycle.laws import FOUND, OneLaw

NINE = load_rules(the_rules())


def asked(sentinel: Sentinel, document: Any = MAIL, **facts: Any) -> Verdict | None:
    return sentinel.check_at_once(
        read(document),
        facts_for(document, **facts),
        policy_digest="pol1_x",
        size_bytes=len(orjson.dumps(document)),
    )


CASES = [(loaded, case) for loaded in NINE for case in (*loaded.rule.passes, *loaded.rule.fails)]


def built(loaded: LoadedRule, case: RuleCase) -> LoadedRule:
    """The rule with the settings of its case."""
    options = options_of(type(loaded.rule), dict(case.settings))
    return replace(loaded, rule=type(loaded.rule)(options))


@pytest.mark.parametrize(("loaded", "case"), CASES)
def test_the_verdict_at_once_is_that_of_the_threads(loaded: LoadedRule, case: RuleCase) -> None:
    sentinel = Sentinel([built(loaded, case)], workers=Workers())
    document, facts = world_of(case)
    looks_outside = "real_path" in case.facts or "roots" in case.settings

    for _ in range(2):  # the second time some answers are remembered
        verdict = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=900)
        if verdict is None:
            assert looks_outside or facts.evidence
        else:
            assert verdict == every_rule(sentinel, document, facts)


PATHS = a_document(PROD, parameters={"version": "v42", "path": "a.txt"})


def rooted() -> Sentinel:
    """Nine rules of which one looks where a path of PROD leads."""
    rules = the_rules()
    bounded = rules["blast_radius_bounded"]
    settings = {**bounded.settings, "roots": {"production-deploy": "/srv"}}
    rules["blast_radius_bounded"] = replace(bounded, settings=settings)
    return Sentinel(load_rules(rules))


def test_a_large_document_a_foreign_rule_and_a_path_need_a_thread() -> None:
    foreign = LoadedRule(OneLaw("z", lambda: FOUND), Level.HARD)  # type: ignore[arg-type]
    large = a_document(MAIL, justification="x" * 9_000)
    assert asked(Sentinel(NINE), MAIL) is not None
    assert asked(Sentinel(NINE), large) is None
    assert asked(Sentinel([*NINE, foreign]), MAIL) is None
    assert asked(rooted(), PATHS) is None


def test_a_look_at_a_path_is_no_mistake_of_a_rule_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert asked(rooted(), PATHS) is None

    assert caplog.messages == []


def test_nothing_is_judged_at_once_while_a_rule_hangs() -> None:
    class Hanging(Workers):
        any_stuck = True

    assert asked(Sentinel(NINE, workers=Hanging())) is None


def test_a_rule_that_was_late_is_asked_again_in_a_thread_and_nothing_of_it_is_remembered() -> None:
    pace = iter([0.0, 0.0, *(0.3 * n for n in range(2)), *(6.0 for _ in range(99))])
    sentinel, document, facts = (
        Sentinel(NINE, ticks=lambda: next(pace)),
        read(MAIL),
        facts_for(MAIL),
    )

    slow = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=500)
    fast = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=500)

    assert slow is None
    assert fast == every_rule(sentinel, document, facts)


def test_what_went_wrong_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = next(loaded for loaded in NINE if loaded.timeless)
    sentinel, document, facts = Sentinel(NINE), read(MAIL), facts_for(MAIL)

    def breaks(*_: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(type(rule.rule), "check", breaks)
        wrong = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=500)
    right = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=500)

    assert wrong is not None
    assert wrong.reason is not None
    assert right == every_rule(sentinel, document, facts)


def test_a_document_with_evidence_needs_a_thread() -> None:
    packet = EvidencePacket("e1", "crm", NOW_MS, NOW_MS, {})

    assert asked(Sentinel(NINE), MAIL, evidence={"e1": packet}) is None


class Timeless(Facts):
    """Facts of which nobody may ask the time."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in ("now_ms", "real_path"):
            raise AssertionError("a timeless rule looked at the time, or outside")
        return super().__getattribute__(name)


@pytest.mark.parametrize(("loaded", "case"), CASES)
def test_a_timeless_rule_never_looks_at_the_time_nor_outside(
    loaded: LoadedRule, case: RuleCase
) -> None:
    document, known = world_of(case)
    facts = Timeless(**{name: getattr(known, name) for name in Facts.__slots__})
    rule = built(loaded, case).rule

    if loaded.timeless and rule.applies_to(document, facts):
        rule.check(document, facts)


def test_most_rules_are_timeless_and_those_of_time_evidence_and_paths_are_not() -> None:
    assert {loaded.id for loaded in NINE if not loaded.timeless} == {
        "blast_radius_bounded",
        "change_window_open",
        "preconditions_hold",
    }


def test_what_is_remembered_is_not_told_of_other_facts() -> None:
    sentinel, document = Sentinel(NINE), read(PROD)
    facts = facts_for(PROD)

    first = sentinel.check_at_once(document, facts, policy_digest="pol1_x", size_bytes=500)
    unable = replace(facts, tool=replace(facts.tool, reversible=False, window_s=900))
    second = sentinel.check_at_once(document, unable, policy_digest="pol1_x", size_bytes=500)
    later = replace(facts, now_ms=NOW_MS + 1)
    third = sentinel.check_at_once(document, later, policy_digest="pol1_x", size_bytes=500)

    assert first == every_rule(sentinel, document, facts)
    assert second == every_rule(sentinel, document, unable)
    assert third == every_rule(sentinel, document, later)


@pytest.mark.parametrize("timeless", [False, True])
def test_only_a_rule_that_is_timeless_is_not_asked_again_at_another_time(timeless: bool) -> None:
    times: list[int] = []

    class Noting(OneLaw):
        def check(self, proposal: Any, facts: Any) -> Any:
            times.append(facts.now_ms)
            return PASSED

    rule = Noting("a", lambda: PASSED)
    rule.timeless = timeless  # type: ignore[attr-defined]
    sentinel = Sentinel([LoadedRule(rule, Level.HARD, own=True)])  # type: ignore[arg-type]
    document, facts = read(MAIL), facts_for(MAIL)
    for now_ms in (NOW_MS, NOW_MS + 1):
        later = replace(facts, now_ms=now_ms)
        verdict = sentinel.check_at_once(document, later, policy_digest="pol1_x", size_bytes=500)
        assert verdict is not None

    assert times == ([NOW_MS] if timeless else [NOW_MS, NOW_MS + 1])


def test_four_kib_are_small_and_a_byte_more_is_not() -> None:
    sentinel, document, facts = Sentinel(NINE), read(MAIL), facts_for(MAIL)

    def judged_at_once(size_bytes: int) -> bool:
        at_once = sentinel.check_at_once(
            document, facts, policy_digest="pol1_x", size_bytes=size_bytes
        )
        return at_once is not None

    assert judged_at_once(_SMALL_BYTES)
    assert not judged_at_once(_SMALL_BYTES + 1)
