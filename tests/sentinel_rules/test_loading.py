"""Rules load whole or not at all, and say what to mend; other packages may add their own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lifecycle.policy import Level, RuleSettings
from lifecycle.sentinel import RuleCase, RuleOptions
from lifecycle.verdict import PASSED, Finding
from sentinel_rules import RuleLoadError, load_rules, tools_named
from sentinel_rules.loading import _prove
from sentinel_rules.loading.discovery import RuleNotFound, own_rules, rule_in
from tests.builders import the_rules
from tests.checking import the_sentinel

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rules"


def hard(**settings: Any) -> RuleSettings:
    return RuleSettings(Level.HARD, settings)


def problems_with(**rules: RuleSettings | None) -> list[str]:
    changed = {name: rule for name, rule in (the_rules() | rules).items() if rule is not None}
    with pytest.raises(RuleLoadError) as caught:
        load_rules(changed)
    return [str(problem) for problem in caught.value.problems]


def test_the_rules_come_in_the_order_of_the_table_with_their_levels() -> None:
    softened = the_rules() | {"secrets_absent": RuleSettings(Level.ADVISORY)}
    loaded = load_rules(dict(reversed(softened.items())))

    assert [rule.id for rule in loaded] == list(the_rules())
    assert {rule.id: rule.level for rule in loaded}["secrets_absent"] is Level.ADVISORY


def test_an_unknown_rule_is_named_with_the_nearest_one() -> None:
    problems = problems_with(secrets_absent=None, secrets_absnt=hard())

    assert problems == [
        "sentinel: the rule secrets_absent is missing: write secrets_absent: {level: hard}.",
        "sentinel.secrets_absnt: there is no rule secrets_absnt. Did you mean secrets_absent?",
    ]


def test_a_rule_that_is_configured_already_is_not_what_was_meant() -> None:
    """It is a rule of somebody else, whose package this machine does not have."""
    (problem,) = problems_with(secrets_absent_too=hard())

    assert problem == (
        "sentinel.secrets_absent_too: there is no rule secrets_absent_too. Remove it, or install "
        "the package that brings it."
    )


@pytest.mark.parametrize(
    ("rule", "settings", "place", "words"),
    [
        ("recipients_allowed", {"domans": []}, "domans", "Did you mean domains?"),
        ("secrets_absent", {"deep": 1}, "deep", "It has none"),
        (
            "change_window_open",
            {"hours": {"x": {"zon": "UTC"}}},
            "hours.x.zon",
            "Did you mean zone?",
        ),
        (
            "change_window_open",
            {"freezes": [{"form": "x"}]},
            "freezes[0].form",
            "Did you mean from?",
        ),
        ("blast_radius_bounded", {"max_affected_records": "9"}, "max_affected_records", "integer"),
        ("blast_radius_bounded", {"max_affected_records": True}, "max_affected_records", "integer"),
        ("blast_radius_bounded", {"max_affected_records": -1}, "max_affected_records", "greater"),
        ("preconditions_hold", {"freshness_s": 0}, "freshness_s", "greater"),
        ("recipients_allowed", {"domains": "shop.example"}, "domains", "array"),
    ],
)
def test_a_mistake_in_the_settings_is_told_with_its_place(
    rule: str, settings: dict[str, Any], place: str, words: str
) -> None:
    told = problems_with(**{rule: hard(**settings)})

    assert any(line.startswith(f"sentinel.{rule}.{place}: ") and words in line for line in told)


@pytest.mark.parametrize("moment", [date(2026, 12, 24), "2026-12-24T00:00:00", "Christmas"])
def test_a_freeze_without_an_offset_stops_the_start(moment: Any) -> None:
    freeze = {"from": moment, "until": "2026-12-27T00:00:00Z"}

    assert problems_with(change_window_open=hard(freezes=[freeze]))


def test_moments_may_be_written_or_read_already() -> None:
    freezes = [{"from": datetime(2026, 12, 24, tzinfo=UTC), "until": "2026-12-27T00:00:00+01:00"}]

    load_rules(the_rules() | {"change_window_open": hard(freezes=freezes)})


def test_the_tools_that_settings_name_are_known() -> None:
    named = {(rule, tool) for rule, _, tool in tools_named(the_sentinel().rules)}

    assert named == {
        ("deploy_target_allowed", "staging-deploy"),
        ("deploy_target_allowed", "production-deploy"),
        ("blast_radius_bounded", "delete-data"),
        ("change_window_open", "production-deploy"),
    }


def test_a_rule_that_misses_its_own_case_cannot_load() -> None:
    class Wrong(own_rules()["secrets_absent"]):  # type: ignore[misc]
        fails: ClassVar[tuple[RuleCase, ...]] = (RuleCase("a plain mail", code="secret_found"),)

    with pytest.raises(RuleNotFound, match="does not hold its own case 'a plain mail'"):
        _prove(Wrong)


def answering(answer: Any, applies: Any = True) -> type[Any]:
    """A rule that says the same of every mail, with one case that passes and one that fails."""

    class Answering:
        id = "house_law"
        version, summary, Options = 1, "A law.", RuleOptions
        passes = (RuleCase("a mail"),)
        fails = (RuleCase("a mail that is wrong", code="house_wrong"),)

        def __init__(self, options: Any) -> None:
            self.options = options

        def applies_to(self, *_: Any) -> Any:
            return applies

        def check(self, *_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    return Answering


@pytest.mark.parametrize(
    ("answer", "case", "told"),
    [
        (PASSED, "a mail that is wrong", "it should find house_wrong, and the rule passes"),
        (
            Finding("house_late", "", "Be earlier."),
            "a mail",
            "it should pass, and the rule finds house_late (Be earlier.)",
        ),
        (
            None,
            "a mail",
            "finds rule_error (The rule house_law answered with NoneType, and neither PASSED",
        ),
        (KeyError("x"), "a mail", "finds rule_error (The rule house_law raised KeyError,"),
    ],
)
def test_a_case_that_does_not_hold_is_told_with_what_was_asked_and_what_came(
    answer: Any, case: str, told: str
) -> None:
    with pytest.raises(RuleNotFound) as refused:
        _prove(answering(answer))

    assert f"its own case '{case}': " in str(refused.value)
    assert told in str(refused.value)


def test_a_rule_is_proved_as_it_will_be_asked() -> None:
    """What Sentinel would refuse every proposal for does not load."""

    class Listing(answering(None)):  # type: ignore[misc]
        fails = (RuleCase("a list", {"justification": "wrong"}, code="house_wrong"),)

        def check(self, proposal: Any, facts: Any) -> Any:
            wrong = proposal.justification == "wrong"
            return [Finding("house_wrong", "", "No.")] if wrong else PASSED

    with pytest.raises(RuleNotFound, match=r"'a list': .* answered with list"):
        _prove(Listing)
    with pytest.raises(RuleNotFound, match=r"'a mail': .* answered with int"):
        _prove(answering(PASSED, applies=0))


def test_a_case_that_cannot_be_tried_is_told_from_a_rule_that_is_wrong() -> None:
    wrong = answering(PASSED)
    wrong.passes = (RuleCase("no mail at all", {"actor": 7}),)

    with pytest.raises(RuleNotFound, match=r"it cannot be tried: proposal\.actor: "):
        _prove(wrong)


def test_a_rule_without_cases_cannot_load() -> None:
    class Unproven(own_rules()["secrets_absent"]):  # type: ignore[misc]
        fails: ClassVar[tuple[RuleCase, ...]] = ()

    with pytest.raises(RuleNotFound, match="a case that fails"):
        _prove(Unproven)


def test_a_rule_with_another_id_is_not_the_one_meant() -> None:
    with pytest.raises(RuleNotFound, match="must be 'other_name'"):
        rule_in(own_rules()["secrets_absent"], "other_name")


def installed(folder: Path, entry: str) -> None:
    """Put what an installer writes for a package with this entry point into `folder`."""
    facts = folder / "house_rules-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[sentinel_rules]\n{entry}\n")


@pytest.fixture
def guest_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where packages are installed for one test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("house_rules", None)


ENTRY = "subject_present = house_rules.subject_present"


def test_a_rule_of_another_package_loads_where_it_is_configured(guest_folder: Path) -> None:
    installed(guest_folder, ENTRY)

    without = load_rules(the_rules())
    loaded = load_rules(the_rules() | {"subject_present": hard(longest=20)})

    assert [rule.id for rule in without] == list(the_rules())
    assert [rule.id for rule in loaded] == [*the_rules(), "subject_present"]
    assert loaded[-1].rule.version == 1


def test_settings_of_another_package_are_read_as_strictly(guest_folder: Path) -> None:
    installed(guest_folder, ENTRY)

    (problem,) = problems_with(subject_present=hard(longst=20))

    assert problem.startswith("sentinel.subject_present.longst: ")
    assert "Did you mean longest?" in problem


def test_no_other_package_may_take_the_name_of_one_of_the_nine(guest_folder: Path) -> None:
    installed(guest_folder, "secrets_absent = house_rules.subject_present")

    (problem,) = problems_with()

    assert "both call themselves secrets_absent" in problem


@pytest.mark.parametrize("missing", ["house_rules.absent", "no_such_package"])
def test_a_package_that_cannot_be_loaded_stops_the_start(guest_folder: Path, missing: str) -> None:
    installed(guest_folder, f"subject_present = {missing}")

    (problem,) = problems_with(subject_present=hard())

    assert f"{missing} cannot be loaded (No module named '{missing}')" in problem


@pytest.mark.parametrize("value", ["house_rules/subject_present.py", "house-rules.law", "a:b:c"])
def test_an_entry_point_that_names_no_module_is_told_the_form(
    guest_folder: Path, value: str
) -> None:
    installed(guest_folder, f"subject_present = {value}")

    (problem,) = problems_with(subject_present=hard())

    words = f"must name package.module or package.module:Class (in {value})."
    assert problem == f"sentinel.subject_present: subject_present {words}"
