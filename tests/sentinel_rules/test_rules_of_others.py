"""What a package of others does where its rule is loaded is told; it ends no program."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from sentinel_rules import RuleLoadError, load_rules, tools_named
from tests.builders import the_rules
from tests.sentinel_rules.test_loading import EXAMPLE, hard, installed, problems_with


@pytest.fixture
def guest_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are installed for one test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return tmp_path


UNMADE = """
    def __init__(self, options):
        self._longest = {3: 3, 60: 60}[options.longest]
"""


def a_package(folder: Path, before: str = "", within: str = "") -> None:
    """Install the example as a package of its own, with lines before it and within its class."""
    source = (EXAMPLE / "house_rules" / "subject_present.py").read_text()
    head, law, rest = source.partition("    def check(")
    future = "from __future__ import annotations\n"
    assert law
    assert head.count(future) == 1
    head = head.replace(future, f"{future}{before}\n")
    module = f"guest_{abs(hash((before, within)))}"
    (folder / f"{module}.py").write_text(f"{head}{within}\n{law}{rest}")
    installed(folder, f"subject_present = {module}")


@pytest.mark.parametrize(
    ("before", "within", "words"),
    [
        ("raise SystemExit('usage: …')", "", "cannot be loaded (it ends the program, SystemExit"),
        ("", UNMADE, "subject_present cannot be made (KeyError at "),
    ],
)
def test_what_a_package_does_where_it_is_loaded_is_told_and_ends_no_program(
    guest_folder: Path, before: str, within: str, words: str
) -> None:
    a_package(guest_folder, before, within)

    (problem,) = problems_with(subject_present=hard(longest=61))

    assert words in problem
    assert "usage" not in problem
    assert "<frozen importlib" not in problem  # how Python imports is nobody's mistake


def test_a_rule_that_cannot_say_what_it_names_is_told_with_its_name(guest_folder: Path) -> None:
    a_package(guest_folder, within="    def tools_named(self, options):\n        return [][0]\n")
    loaded = load_rules(the_rules() | {"subject_present": hard()})

    with pytest.raises(RuleLoadError, match=r"tools_named of subject_present fails \(IndexError"):
        list(tools_named(loaded))


@pytest.mark.parametrize("told", ["['staging-deploy']", "[('tools', 'x')]", "[(('tools',), 3)]"])
def test_a_rule_that_names_tools_in_another_form_is_told_which_one(
    guest_folder: Path, told: str
) -> None:
    a_package(guest_folder, within=f"    def tools_named(self, options):\n        return {told}\n")
    loaded = load_rules(the_rules() | {"subject_present": hard()})

    with pytest.raises(RuleLoadError, match=r"tools_named of subject_present must return pairs"):
        list(tools_named(loaded))
