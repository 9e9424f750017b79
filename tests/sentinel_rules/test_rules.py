"""Every rule is law, documentation and proof in one file; this holds them to that form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lifecycle.checking.rule_cases import outcome_of
from lifecycle.codes import FINDINGS, RULES
from lifecycle.sentinel import Rule, RuleCase, RuleOptions
from sentinel_rules import page_of, rule_index
from sentinel_rules.loading.discovery import own_rules
from tests.builders import PROD, a_document
from tests.checking import verdict_on

ROOT = Path(__file__).resolve().parents[2]
NINE = own_rules()
PASSES = [(rule, case) for rule in NINE.values() for case in rule.passes]
FAILS = [(rule, case) for rule in NINE.values() for case in rule.fails]
HEADINGS = ["What it checks:", "Why:", "Settings:"]


def name_of(value: object) -> str:
    return value.name if isinstance(value, RuleCase) else getattr(value, "id", "")


def test_there_are_the_nine_rules_of_the_table() -> None:
    assert sorted(NINE) == sorted(RULES)


@pytest.mark.parametrize(("rule", "case"), PASSES, ids=name_of)
def test_a_case_that_passes_passes(rule: type[Rule], case: RuleCase) -> None:
    assert case.code is None
    assert outcome_of(rule, case) == ()


@pytest.mark.parametrize(("rule", "case"), FAILS, ids=name_of)
def test_a_case_that_fails_fails_for_its_reason(rule: type[Rule], case: RuleCase) -> None:
    assert case.code in {finding.code for finding in outcome_of(rule, case)}
    assert case.code in FINDINGS


@pytest.mark.parametrize("rule", NINE.values(), ids=name_of)
def test_a_rule_has_both_kinds_of_cases_with_names_of_their_own(rule: type[Rule]) -> None:
    names = [case.name for case in (*rule.passes, *rule.fails)]

    assert rule.passes
    assert rule.fails
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", NINE.values(), ids=name_of)
def test_a_rule_explains_itself_under_three_headings(rule: type[Rule]) -> None:
    page = page_of(rule)

    assert [line for line in page.splitlines() if line.endswith(":") and line[0] != " "] == HEADINGS
    assert re.fullmatch(r"[A-Z].+\.", page.splitlines()[0])
    assert re.fullmatch(r"[A-Z].+\.", rule.summary)


@pytest.mark.parametrize("rule", NINE.values(), ids=name_of)
def test_every_setting_of_a_rule_is_explained(rule: type[Rule]) -> None:
    settings = page_of(rule).partition("Settings:")[2]
    known = [field.alias or name for name, field in rule.Options.model_fields.items()]

    assert [key for key in known if f"{key}:" not in settings] == []
    assert issubclass(rule.Options, RuleOptions)
    assert rule.version >= 1


def test_the_index_in_the_readme_is_current() -> None:
    page = (ROOT / "sentinel_rules" / "README.md").read_text(encoding="utf-8")

    assert rule_index() in page, "Paste what sentinel_rules.rule_index() returns."


ENVELOPE = {
    "allowed_side_effects": ["deploy"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}


@pytest.mark.parametrize(
    ("changed", "parameters", "remedy"),
    [
        ({"allowed_side_effects": []}, {}, "allow it there, or use another tool"),
        ({"forbidden_effects": ["deploy"]}, {}, "use another tool"),
        ({}, {"updates": {"price": 1}}, "leave it out"),
    ],
)
def test_what_reaches_beyond_its_envelope_is_told_with_what_would_do(
    changed: dict[str, Any], parameters: dict[str, Any], remedy: str
) -> None:
    document = a_document(PROD, risk_envelope=ENVELOPE | changed)
    document["target"] = document["target"] | {"constraints": {"forbidden_fields": ["price"]}}
    document["parameters"] = document["parameters"] | parameters

    (finding,) = (each for result in verdict_on(document).results for each in result.findings)

    assert remedy in finding.words
