"""How a row must stand by its trail (ADR 0013).

A value is `UNTOLD` where the entries do not say which it is; those of older versions tell less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from lifecycle.audit import AuditEntry


class Untold(Enum):
    """The one value that says nothing."""

    UNTOLD = auto()


UNTOLD: Final = Untold.UNTOLD


@dataclass(slots=True)
class Told:
    """How a row must stand; `odd` are sentences about entries that cannot follow on the others.

    `moved` is the last entry that moved it, `begun` the one that began its execution. `stops` are
    the people whose ❌ waits for a tool's answer, `stoppers` all who stopped it under way.
    `receipt` is the digest of what its tool answered, `window` when its window closes, in ms UTC,
    `window_s` how long one lasts. `needs_people` says that nothing else stands for the quorum.
    `rules` is what each rule found, `committed` whether a commit was claimed.
    """

    state: str | None = None
    moved: AuditEntry | None = None
    begun: AuditEntry | None = None
    tier: str | Untold = UNTOLD
    quorum: int | Untold = UNTOLD
    needs_people: bool | Untold = UNTOLD
    deadline_ms: int | Untold = UNTOLD
    verb: str | Untold = UNTOLD
    attempt: int | Untold = UNTOLD
    outcome: str | Untold = UNTOLD
    receipt: str | Untold = UNTOLD
    window: int | Untold | None = None
    window_s: int | Untold = UNTOLD
    rules: Any = UNTOLD
    committed: bool = False
    attention: str | None = None
    explanation: str | Untold = UNTOLD
    stops: list[str] = field(default_factory=list)
    stoppers: set[str] = field(default_factory=set)
    odd: list[str] = field(default_factory=list)


def person_of(entry: AuditEntry) -> str:
    """Return the id of whoever caused what an entry tells, empty where nobody did."""
    return entry.event.actor.id if entry.event.actor else ""
