"""Find rules: in the modules of this package, and in the entry-point group `sentinel_rules`."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Final, cast

from lifecycle.sentinel import Rule
from sentinel_rules.loading.shape import WHAT_A_RULE_IS, is_like_a_rule, is_rule, why_no_rule

GROUP: Final = "sentinel_rules"
_NO_RULES: Final = frozenset({"loading"})


class RuleNotFound(Exception):
    """Something should be a rule and is not."""


@cache
def own_rules() -> dict[str, type[Rule]]:
    """Return the rules of this package by id: one module, one rule, one name."""
    package = import_module("sentinel_rules")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return {
        name: rule_in(import_module(f"sentinel_rules.{name}"), name)
        for name in names
        if name not in _NO_RULES
    }


def rule_in(place: Any, name: str) -> type[Rule]:
    """Return the rule called `name` in a module, or `place` itself if it is the rule.

    Raises RuleNotFound if there is none, or several, or one with another id.
    """
    rule = _rule_of(place, name) if isinstance(place, ModuleType) else place
    if not is_rule(rule):
        raise RuleNotFound(f"{name} must be a rule: {why_no_rule(rule)}")
    if rule.id != name:
        raise RuleNotFound(f"the id of the rule {name} must be {name!r}")
    return cast("type[Rule]", rule)


def _rule_of(module: ModuleType, name: str) -> Any:
    classes = [
        value
        for value in vars(module).values()
        if is_like_a_rule(value) and value.__module__ == module.__name__
    ]
    rules = [value for value in classes if is_rule(value)]
    if len(rules) == 1:
        return rules[0]
    words = f"{name} must hold exactly one rule, and holds {len(rules)}"
    if not rules:
        nearly = "; ".join(map(why_no_rule, classes))
        words += f" ({nearly or WHAT_A_RULE_IS})"
    raise RuleNotFound(words)


def guests(names: Collection[str]) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the entry points of other packages that have one of these names."""
    for point in entry_points(group=GROUP):
        if point.name in names:
            yield point.name, point


def rule_at(point: EntryPoint) -> type[Rule]:
    """Return the rule that an entry point of another package names.

    Raises RuleNotFound if it names none, and whatever the package raises while it is loaded.
    """
    if point.pattern.match(point.value) is None:  # importlib fails at it without saying why
        raise RuleNotFound(f"{point.name} must name package.module or package.module:Class")
    return rule_in(point.load(), point.name)


def guest_names() -> frozenset[str]:
    """Return the names of all rules of other packages, configured or not."""
    return frozenset(point.name for point in entry_points(group=GROUP))
