"""What of a class is not what a rule has is told by its name, to whoever writes the rule."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from lifecycle.sentinel import RuleCase, RuleOptions
from lifecycle.verdict import PASSED, Finding
from sentinel_rules.loading import _prove
from sentinel_rules.loading.discovery import RuleNotFound, rule_in
from sentinel_rules.loading.shape import PARTS

PASSING = RuleCase("a mail")
FAILING = RuleCase("a wrong mail", {"justification": "wrong"}, code="house_wrong")


class Lenient(BaseModel):
    """Settings that would take a misspelt key without a word."""

    longest: int = 60


async def awaited(self: Any, proposal: Any, facts: Any) -> Any:
    return PASSED


def yielding(self: Any, proposal: Any, facts: Any) -> Any:
    yield PASSED


async def yielding_late(self: Any, proposal: Any, facts: Any) -> Any:
    yield PASSED


def written(lacking: str = "", **changed: Any) -> type[Any]:
    """A rule that holds, but for a part that it lacks or has otherwise."""

    class HouseLaw:
        id = "house_law"
        version, summary, Options = 1, "A law.", RuleOptions
        passes, fails = (PASSING,), (FAILING,)

        def __init__(self, options: Any) -> None:
            self.options = options

        def applies_to(self, proposal: Any, facts: Any) -> Any:
            return True

        def check(self, proposal: Any, facts: Any) -> Any:
            wrong = proposal.justification == "wrong"
            return Finding("house_wrong", "justification", "No.") if wrong else PASSED

    if lacking:
        delattr(HouseLaw, lacking)
    for part, value in changed.items():
        setattr(HouseLaw, part, value)
    return HouseLaw


def module_with(*classes: type[Any]) -> ModuleType:
    module = ModuleType("house_law")
    for number, each in enumerate(classes):
        each.__module__ = module.__name__
        setattr(module, f"Class{number}", each)
    return module


def told_of(rule: type[Any]) -> str:
    with pytest.raises(RuleNotFound) as refused:
        _prove(rule)
    return str(refused.value)


def test_a_rule_that_has_all_its_parts_loads() -> None:
    rule = written()

    assert rule_in(module_with(rule), "house_law") is rule
    assert rule_in(rule, "house_law") is rule
    _prove(rule)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_a_rule_lacks_is_named(part: str) -> None:
    rule = written(lacking=part)

    for place in (module_with(rule), rule):
        with pytest.raises(RuleNotFound, match=f"HouseLaw lacks {part}"):
            rule_in(place, "house_law")


def test_a_base_without_cases_beside_a_rule_is_no_second_one() -> None:
    class Base:
        id, version, summary, Options = "base", 1, "A base.", RuleOptions
        check = written().check

    rule = written()

    assert rule_in(module_with(Base, rule), "house_law") is rule


def test_a_module_without_any_such_class_is_told_what_a_rule_has() -> None:
    with pytest.raises(RuleNotFound, match=r"holds 0 \(a rule is a class with id, version"):
        rule_in(module_with(), "house_law")


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("version", "1", "version must be a whole number"),
        ("version", True, "version must be a whole number"),
        ("summary", 3, "summary must be text"),
        ("Options", object, "Options must be a class that inherits RuleOptions"),
        ("Options", Lenient, "Options must be a class that inherits RuleOptions"),
        ("passes", PASSING, "passes must be a tuple: behind a single case stands a comma"),
        ("fails", {}, "fails must be a tuple of RuleCase, and is dict"),
        ("passes", ({"name": "a mail"},), "passes must hold RuleCase alone, and holds dict"),
        ("__init__", lambda self: None, "__init__ must take (self, options)"),
        ("applies_to", lambda self: True, "applies_to must take (self, proposal, facts)"),
        ("check", lambda self, proposal: PASSED, "check must take (self, proposal, facts)"),
        ("check", awaited, "check must be plain: write def, not async def"),
        ("applies_to", awaited, "applies_to must be plain: write def, not async def"),
        ("check", yielding, "check must return its answer: write no yield in it"),
        ("check", yielding_late, "check must return its answer: write no yield in it"),
    ],
)
def test_a_part_of_another_form_is_told_with_the_form_that_it_must_have(
    part: str, value: Any, told: str
) -> None:
    assert told in told_of(written(**{part: value}))


def test_methods_that_are_bound_otherwise_are_taken_as_they_are() -> None:
    rule = written(applies_to=staticmethod(lambda proposal, facts: False), fails=())

    assert "needs a case that passes and a case that fails" in told_of(rule)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (RuleCase("x", {"paramters": {}}), "proposal.paramters does not exist"),
        (RuleCase("x", {"target": 3}), "proposal.target: "),
        (RuleCase("x", {"parameters": {"to": {1}}}), "proposal is no JSON"),
        (RuleCase("x", settings={"longst": 1}), "settings.longst does not exist"),
        (RuleCase("x", tool={"nam": "y"}), "tool.nam does not exist (it may mean name)"),
        (RuleCase("x", facts={"now": 1}), "facts.now does not exist (it may mean now_ms)"),
    ],
)
def test_what_a_case_describes_and_nobody_knows_is_named(case: RuleCase, told: str) -> None:
    words = told_of(written(passes=(case,)))

    assert f"its own case 'x': it cannot be tried: {told}" in words
