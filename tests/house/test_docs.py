"""The pages keep their form, and name only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HEADINGS = ["Status", "Context", "Decision", "Consequences", "Rejected alternatives"]
LONGEST_DECISION = 70

TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
EXPLAINED = set(re.findall(r"^([a-z]+):.*## \S", (ROOT / "Makefile").read_text(), re.MULTILINE))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands_in(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    code = re.findall(r"^```.*?^```|`[^`\n]+`", text, re.DOTALL | re.MULTILINE)
    return {name for piece in code for name in re.findall(r"(?:^|[`\s])make ([a-z]+)", piece)}


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_has_its_five_parts_on_one_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert text.startswith(f"# {page.name[:4]}: ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert len(text.splitlines()) <= LONGEST_DECISION


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]

    assert numbers
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == "[Unreleased]"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_named_in_a_page_exist(page: Path) -> None:
    assert commands_in(page) - TARGETS == set()


def test_what_ci_and_readers_call_is_there() -> None:
    called = set(re.findall(r"^make ([a-z]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE))

    assert called == {"check", "test"}
    assert called | {"run", "setup"} <= TARGETS


def test_every_make_target_explains_itself() -> None:
    unexplained = TARGETS - EXPLAINED

    assert unexplained == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_glossary_gives_each_term_one_meaning() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", glossary, re.MULTILINE)
    terms = [term for term, _, _ in rows]

    assert {"proposal", "review", "permit", "rollback window", "workflow"} <= set(terms)
    assert len(terms) == len(set(terms))


def test_the_drawn_lifecycle_is_the_table() -> None:
    from scripts.write_lifecycle import PAGES as DRAWN
    from scripts.write_lifecycle import filled

    for page in DRAWN:
        text = page.read_text(encoding="utf-8")
        assert filled(text) == text, f"{page.name}: run python scripts/write_lifecycle.py"


def test_the_pages_that_show_a_card_whole_show_the_same_one() -> None:
    first, second = (
        re.search(r"^```\n(🔔.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
        for name in ("README.md", "docs/cards.md")
    )

    assert first is not None
    assert second is not None
    assert first[1] == second[1]


def test_the_rule_that_the_readme_shows_is_the_sample() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sample = (ROOT / "examples/rules/house_rules/subject_present.py").read_text(encoding="utf-8")
    section = readme.split("## A rule in ten minutes")[1].split("\n## ")[0]

    (shown,) = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)

    assert shown in sample
