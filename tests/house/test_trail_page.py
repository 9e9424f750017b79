"""Every kind of entry in the trail is told on the page of the lifecycle, and written somewhere."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path

from lifecycle.books import AuditTrail
from lifecycle.event_kinds import EventKind
from lifecycle.state import Trigger

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "lifecycle.md").read_text(encoding="utf-8")
#: What looks for entries and writes none.
READERS = (
    *("lifecycle/agreeing/", "lifecycle/audit.py", "lifecycle/people/overtaken.py"),
    "bot/chat/hearing/seen_gone.py",
)


def kinds_named() -> set[str]:
    """Return the members of `EventKind` that whatever may write entries names."""
    files = (file for package in ("lifecycle", "bot") for file in (ROOT / package).rglob("*.py"))
    found: set[str] = set()
    for file in files:
        if not file.relative_to(ROOT).as_posix().startswith(READERS):
            text = file.read_text(encoding="utf-8")
            found |= set(re.findall(r"\bEventKind\.([A-Z_]+)\b", text))
    return found


def test_every_entry_of_the_trail_that_is_no_move_is_told_and_no_other() -> None:
    section = PAGE.split("## What the trail tells")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}

    assert told == {each.value for each in EventKind}


def test_every_kind_of_entry_is_written_by_somebody() -> None:
    assert kinds_named() == {each.name for each in EventKind}


def test_nothing_reads_the_trail_of_a_proposal_whole() -> None:
    """Anybody in the channel can make hundreds of thousands of entries in it, and ask for it."""
    readings = {
        name: list(signature(reading).parameters)
        for name, reading in vars(AuditTrail).items()
        if not name.startswith("_") and "Sequence" in str(signature(reading).return_annotation)
    }
    unlimited = [name for name, parameters in readings.items() if "limit" not in parameters]

    assert unlimited == ["without_attempts"], "what strangers tried is no part of that"


def test_no_kind_of_entry_passes_for_a_move() -> None:
    assert not {each.value for each in EventKind} & {each.value for each in Trigger}
