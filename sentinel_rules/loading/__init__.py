"""Load the rules, all or none: all nine, each configured, each with its own cases holding (section
5)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import Any

from lifecycle.checking.rule_cases import CaseUnread, outcome_of
from lifecycle.codes import RULES
from lifecycle.located import NOT_LOADED, located, not_loaded
from lifecycle.nearest import meant
from lifecycle.paths import Parts, dotted
from lifecycle.policy import RuleSettings
from lifecycle.sentinel import LoadedRule, Rule, RuleCase
from sentinel_rules.loading.discovery import RuleNotFound, guest_names, guests, own_rules, rule_at
from sentinel_rules.loading.settings import BadSettings, read_options
from sentinel_rules.loading.shape import misshapen, names_a_place

_SECTION = "sentinel"
_GONE = " Remove it, or install the package that brings it."


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """One reason why the rules cannot load: the rule, the place in the config, the remedy."""

    rule: str
    path: Parts
    remedy: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{dotted(self.path)}: {self.remedy}"


class RuleLoadError(Exception):
    """The rules cannot load; `problems` has everything that must be mended first."""

    def __init__(self, problems: Iterable[RuleProblem]) -> None:
        """Take all problems that one pass can find."""
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def load_rules(settings: Mapping[str, RuleSettings]) -> tuple[LoadedRule, ...]:
    """Return the configured rules in the order of the table of nine, then others by id.

    Rules of other packages are loaded if they are configured. Raises RuleLoadError with every
    problem: one of the nine missing or not configured, an unknown rule or key, a bad setting, an id
    that two rules claim, a rule whose own cases do not hold.
    """
    problems: list[RuleProblem] = []
    classes = _known(settings, problems)
    problems += _missing(settings)
    problems += _unknown(settings, classes, problems)
    loaded = []
    for rule_id in sorted(classes.keys() & settings.keys(), key=_rank):
        try:
            loaded.append(_loaded(classes[rule_id], settings[rule_id]))
        except BadSettings as error:
            problems += [_problem(rule_id, words, parts) for parts, words in error.faults]
        except RuleNotFound as error:
            problems.append(_problem(rule_id, f"{error}."))
        except NOT_LOADED as error:
            words = f"{rule_id} cannot be made ({located(error)}): mend it, or its settings."
            problems.append(_problem(rule_id, words))
    if problems:
        raise RuleLoadError(problems)
    return tuple(loaded)


def tools_named(rules: Iterable[LoadedRule]) -> Iterator[tuple[str, Parts, str]]:
    """Yield (rule, place in the config, tool) for every tool that a rule's settings name.

    Raises RuleLoadError if a rule fails to tell them.
    """
    return _named(rules, "tools_named")


def sources_named(rules: Iterable[LoadedRule]) -> Iterator[tuple[str, Parts, str]]:
    """Yield (rule, place in the config, source) for every source that a rule's settings name.

    Raises RuleLoadError if a rule fails to tell them.
    """
    return _named(rules, "sources_named")


def _named(rules: Iterable[LoadedRule], hook: str) -> Iterator[tuple[str, Parts, str]]:
    for loaded in rules:
        ask = getattr(loaded.rule, hook, None)
        try:
            told = list(ask(loaded.options)) if ask else []
        except NOT_LOADED as error:
            words = f"{hook} of {loaded.id} fails ({located(error)}): mend it."
            raise RuleLoadError([_problem(loaded.id, words)]) from error
        if not all(map(names_a_place, told)):
            words = f"{hook} of {loaded.id} must return pairs like ((key,), name): mend it."
            raise RuleLoadError([_problem(loaded.id, words)])
        for parts, name in told:
            yield loaded.id, (_SECTION, loaded.id, *parts), name


def page_of(rule: Rule | type[Rule]) -> str:
    """Return the documentation of a rule: what it checks, why, its settings."""
    kind: Any = rule if isinstance(rule, type) else type(rule)
    module = sys.modules.get(kind.__module__)
    return cleandoc((module.__doc__ if module else None) or kind.__doc__ or kind.summary)


def rule_index() -> str:
    """Return the index of the nine rules as a table, for the README of this package."""
    rows = [
        f"| [`{rule_id}`]({rule_id}.py) | {own_rules()[rule_id].summary} |"
        for rule_id in sorted(own_rules(), key=_rank)
    ]
    return "\n".join(["| rule | the law |", "|---|---|", *rows])


def _rank(rule_id: str) -> tuple[int, str]:
    return RULES.index(rule_id) if rule_id in RULES else len(RULES), rule_id


def _problem(rule: str, remedy: str, parts: Parts = ()) -> RuleProblem:
    return RuleProblem(rule, (_SECTION, rule, *parts), remedy)


def _known(
    settings: Mapping[str, RuleSettings], problems: list[RuleProblem]
) -> dict[str, type[Rule]]:
    """Return the rules by id: our own, and the configured ones of other packages."""
    classes = dict(own_rules())
    claimed: dict[str, str] = dict.fromkeys(classes, "sentinel_rules")
    for name, point in guests(classes.keys() | settings.keys()):
        if claimed.setdefault(name, point.value) != point.value:
            words = f"{point.value} and {claimed[name]} both call themselves {name}: remove one."
            problems.append(_problem(name, words))
            continue
        try:
            classes[name] = rule_at(point)
        except RuleNotFound as error:
            problems.append(_problem(name, f"{error} (in {point.value})."))
        except NOT_LOADED as error:
            words = f"{point.value} cannot be loaded ({not_loaded(error)}): mend or remove it."
            problems.append(_problem(name, words))
    return classes


def _missing(settings: Mapping[str, RuleSettings]) -> Iterator[RuleProblem]:
    for rule_id in RULES:
        if rule_id not in own_rules():
            yield _problem(rule_id, f"the rule {rule_id} is not installed: install Signoff whole.")
        elif rule_id not in settings:
            words = f"the rule {rule_id} is missing: write {rule_id}: {{level: hard}}."
            yield RuleProblem(rule_id, (_SECTION,), words)


def _unknown(
    settings: Mapping[str, RuleSettings],
    classes: Mapping[str, type[Rule]],
    problems: list[RuleProblem],
) -> list[RuleProblem]:
    told = {problem.rule for problem in problems}
    unknown = settings.keys() - classes.keys() - told
    # All installed packages are searched for this, so it is done only if a rule is unknown. A rule
    # that is configured already cannot be the one that was meant.
    known = (classes.keys() | guest_names()) - settings.keys() if unknown else frozenset[str]()
    return [
        _problem(name, f"there is no rule {name}.{meant(name, known) or _GONE}")
        for name in settings
        if name in unknown
    ]


def _loaded(rule: type[Rule], settings: RuleSettings) -> LoadedRule:
    _prove(rule)
    options = read_options(rule, settings.settings)
    own = rule.id in RULES and own_rules().get(rule.id) is rule
    return LoadedRule(rule(options), settings.level, options, own)


@cache
def _prove(rule: type[Rule]) -> None:
    """Run the rule's own cases. Raises RuleNotFound if its form is wrong or a case fails."""
    if faults := misshapen(rule):
        raise RuleNotFound(f"{rule.id} cannot be a rule: {faults}. Mend it")
    if not (rule.passes and rule.fails):
        raise RuleNotFound(f"{rule.id} needs a case that passes and a case that fails")
    for case in (*rule.passes, *rule.fails):
        if breach := _breach(rule, case, is_pass=case in rule.passes):
            words = f"{rule.id} does not hold its own case {case.name!r}: {breach}"
            raise RuleNotFound(f"{words}. Mend the rule or the case")


def _breach(rule: type[Rule], case: RuleCase, *, is_pass: bool) -> str | None:
    """Return what the case asks for and what came instead; None if it holds."""
    if is_pass is not (case.code is None):
        return "it has a code, which none of `passes` has" if is_pass else "it needs a code"
    try:
        findings = outcome_of(rule, case)
    except CaseUnread as error:
        return f"it cannot be tried: {error}"
    except NOT_LOADED as error:
        return f"it cannot be tried ({located(error)})"
    if case.code in {finding.code for finding in findings} or not (case.code or findings):
        return None
    wanted = f"find {case.code}" if case.code else "pass"
    came = ", ".join(f"{finding.code} ({finding.words})" for finding in findings)
    return f"it should {wanted}, and the rule {f'finds {came}' if came else 'passes'}"
