"""How a row must stand by its trail (ADR 0013).

A value is `UNTOLD` where the entries do not say which it is; those of older versions tell less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from lifecycle.audit import AuditEntry
from lifecycle.proposal import Identity


class Untold(Enum):
    """The one value that says nothing."""

    UNTOLD = auto()


UNTOLD: Final = Untold.UNTOLD


@dataclass(slots=True)
class ToldCause:
    """Why a commit or a roll back was claimed, as its entry tells it."""

    by: Identity | None
    reason: str | None
    words: str | Untold


@dataclass(slots=True)
class ToldPermit:
    """A permit that an agent was given: by `entry`, which names its digest; used or taken back
    `at`."""

    entry: AuditEntry
    digest: str
    at: str | None = None


@dataclass(slots=True)
class ToldCall:
    """How the last call must stand beside verb, attempt and outcome.

    `began` is the entry that told of it, `opens_ms` when its window opened, `stands` a digest of
    what a roll back left; `cause` is None where nobody has claimed anything yet.
    """

    began: AuditEntry
    opens_ms: int | Untold | None = UNTOLD
    tries: int | Untold = 1
    doubted: bool | Untold = False
    stands: str | Untold = UNTOLD
    cause: ToldCause | Untold | None = None


@dataclass(slots=True)
class Told:
    """How a row must stand; `odd` are sentences about entries that cannot follow on the others.

    `moved` is the last entry that moved it, `begun` the one that began its execution. `stops` are
    the people whose ❌ waits for a tool's answer, `stoppers` all who stopped it under way. `kept`
    is the first of those that wait, `kept_words` its reason. `receipt` is the digest of what its
    tool answered, `window` when its window closes, in ms UTC, `window_s` how long one lasts.
    `needs_people` says that nothing else stands for the quorum. `rules` is what each rule found,
    `findings` a digest of all that it said, `committed` whether a commit was claimed. `policy` is
    the one it was last judged under, `owed` whether evidence objects that could decide nothing yet.
    `not_closed` is the last entry of a closing that failed, `reason_due_ms` until when the end
    waits for words behind a ❌.
    """

    state: str | None = None
    moved: AuditEntry | None = None
    begun: AuditEntry | None = None
    tier: str | Untold = UNTOLD
    quorum: int | Untold = UNTOLD
    needs_people: bool | Untold = UNTOLD
    deadline_ms: int | Untold = UNTOLD
    permit_waits: bool | Untold = False
    policy: str | None = None
    owed: bool = False
    verb: str | Untold = UNTOLD
    attempt: int | Untold = UNTOLD
    outcome: str | Untold = UNTOLD
    receipt: str | Untold = UNTOLD
    call: ToldCall | None = None
    window: int | Untold | None = None
    window_s: int | Untold = UNTOLD
    not_closed: AuditEntry | None = None
    reason_due_ms: int | Untold | None = None
    rules: Any = UNTOLD
    findings: str | Untold = UNTOLD
    committed: bool = False
    attention: str | None = None
    explanation: str | Untold = UNTOLD
    stops: list[str] = field(default_factory=list)
    stoppers: set[str] = field(default_factory=set)
    kept: AuditEntry | None = None
    kept_words: str | Untold = UNTOLD
    permits: list[ToldPermit] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


def person_of(entry: AuditEntry) -> str:
    """Return the id of whoever caused what an entry tells, empty where nobody did."""
    return entry.event.actor.id if entry.event.actor else ""
