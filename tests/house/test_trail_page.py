"""Every kind of entry in the trail is told on the page of the lifecycle, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from bot.chat.hearing import moderated
from lifecycle.agreeing.following import CLAIMS
from lifecycle.posted_cards import POSTED
from lifecycle.state import Trigger

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "lifecycle.md").read_text(encoding="utf-8")
#: At which place the kind stands among what each is given.
PLACES = {"record": 2, "amend": 3}
OF_CARDS = {"card_cleared", "card_deleted", "card_hidden"}
#: What is written in place of a kind somewhere, and what it may be there.
NAMED = {
    "POSTED": {POSTED},
    "trigger.value": {each.value for each in Trigger},
    "kind": {*CLAIMS, *OF_CARDS},
}


def kinds_given() -> Iterator[ast.expr]:
    for package in ("lifecycle", "bot"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    place = PLACES.get(node.func.id)
                    if place is not None and len(node.args) > place:
                        yield node.args[place]


def kinds() -> set[str]:
    found: set[str] = set()
    for given in kinds_given():
        if isinstance(given, ast.Constant):
            found.add(str(given.value))
        else:
            found |= NAMED[ast.unparse(given)]
    return found


def test_every_entry_of_the_trail_that_is_no_move_is_told_and_no_other() -> None:
    section = PAGE.split("## What the trail tells")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}

    assert told == kinds() - {each.value for each in Trigger}


def test_what_is_noted_of_a_card_is_written_where_it_is_looked_for() -> None:
    source = Path(moderated.__file__).read_text(encoding="utf-8")

    assert set(re.findall(r'"(card_[a-z]+)"', source)) == OF_CARDS
