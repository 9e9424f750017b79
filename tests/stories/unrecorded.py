"""A trail that cannot be written, and a search, which nobody is asked about."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

FILE = "signoff.db"

#: leila searches (AUTO): it is carried out without a person.
SEARCH = {
    "proposal_id": "p1",
    "tool": "search",
    "action_type": "read",
    "target": {"resource_type": "web", "resource_id": "q", "domain": "x", "constraints": {}},
    "parameters": {"q": "terms"},
    "justification": "Pat asked for the terms of payment",
    "approval_class": "none",
}


def break_audit(folder: Path) -> None:
    """Let every insert into the trail fail, as on a full disk."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON audit "
            "BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )


def mend_audit(folder: Path) -> None:
    """Let what was broken be written again."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute("DROP TRIGGER broken")
