"""Whatever the bot announces or counts is on the page for operators, in the bot's own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.intake.http import metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")

#: Where something is announced, and how the page quotes it; `…` stands for what differs.
ANNOUNCED = {
    "bot/chat/hearing/not_worked.py": ["… of what was heard on … before the start …"],
    "lifecycle/judging/adopting.py": ["A new policy is in force: …"],
    "lifecycle/people/acts.py": ["… was closed, and a ❌ by … was found on … after that: …"],
    "lifecycle/admitting/admission.py": ["… more than it may, and the rest is refused: …"],
    "lifecycle/clockwork/closing.py": ["… is overdue: its window has passed but …"],
    "lifecycle/door.py": ["… needs a person: …"],
    "lifecycle/freezing.py": ["Frozen by …", "Frozen: …", "Thawed by …"],
    "lifecycle/clockwork/keeping.py": ["… still waits for people, until …", "Audit head: entry …"],
    "lifecycle/changed_rows.py": ["… Somebody changed the database."],
    "lifecycle/questions.py": ["QUESTION from agent …"],
    "lifecycle/agents/reporting.py": ["… Its agent … now reports that it did happen. …"],
    "lifecycle/people/overtaken.py": ["… took a ✅ off … which could be worked only now. …"],
    "lifecycle/people/settling.py": ["… The ❌ by … came too late: …"],
    "lifecycle/stops/spooling.py": ["The stop of … has no effect: …"],
    "bot/jobs/tell_clock.py": ["… clock says …"],
    "lifecycle/clockwork/clocks.py": ["The machine's clock was set forward by …"],
}
#: The same where no proposal is concerned; the words are made elsewhere.
WORDED_IN = {"bot/jobs/tell_clock.py": "bot/clocks/strayed.py"}
ALERTS = {
    "bot/chat/showing/watching.py": ["⚠️ … has heard nothing since …"],
    "lifecycle/workings/failing.py": ["… failed … times since …", "… does not end: …"],
    "lifecycle/workings/unwritten.py": [
        "The store cannot be written since …",
        "The store does not answer since …",
    ],
}
ALL = {**ANNOUNCED, **ALERTS}


def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def announcing() -> Iterator[str]:
    for package in ("lifecycle", "bot"):
        for path in sorted((ROOT / package).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            for node in ast.walk(tree_of(file)):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("announce"):
                    yield file


def told() -> list[str]:
    section = PAGE.split("## What the bot announces")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \| .+ \|$", section, re.MULTILINE)
    return [quoted for row in rows for quoted in re.findall(r"`([^`]+)`", row)]


def test_whatever_is_announced_has_its_row_and_nothing_else_has() -> None:
    found = sorted(announcing())

    assert found == sorted(file for file, quoted in ANNOUNCED.items() for _ in quoted)
    assert sorted(told()) == sorted(each for quoted in ALL.values() for each in quoted)


@pytest.mark.parametrize("file", sorted(ALL))
def test_the_page_quotes_what_is_really_said(file: str) -> None:
    nodes = ast.walk(tree_of(WORDED_IN.get(file, file)))
    said = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = [text for text in said if isinstance(text, str)]

    pieces = [piece.strip() for quoted in ALL[file] for piece in quoted.split("…") if piece.strip()]
    assert [piece for piece in pieces if not any(piece in text for text in texts)] == []


def test_every_number_for_prometheus_is_told_and_no_other() -> None:
    source = Path(metrics.__file__).read_text(encoding="utf-8")
    kinds = re.findall(r'(Gauge|Counter|Histogram)\(\s*"(signoff_\w+)"', source)
    named = {name + ("_total" if kind == "Counter" else "") for kind, name in kinds}

    assert named
    assert set(re.findall(r"`(signoff_\w+)`", PAGE)) == named
