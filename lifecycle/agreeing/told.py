"""Define the expected row of a proposal, which `retelling.retold` derives from the trail (ADR
0013).

A value is `UNTOLD` if the entries do not say what it is, as entries of older versions may not; an
untold value is not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from lifecycle.audit import AuditEntry
from lifecycle.proposal import Identity


class Untold(Enum):
    """The type of `UNTOLD`, which differs from None: None is a value that an entry can tell."""

    UNTOLD = auto()


UNTOLD: Final = Untold.UNTOLD
#: The reason of an end for which somebody's ✅ has closed the window.
APPROVED_EARLY: Final = "approved_early"


@dataclass(slots=True)
class ToldCause:
    """Why a commit or a roll back was claimed, as its entry tells it."""

    by: Identity | None
    reason: str | None
    words: str | Untold


@dataclass(slots=True)
class ToldPermit:
    """A permit that an agent was given.

    `entry` is the entry that handed it over, `digest` the digest of its token, and `at` the time at
    which it was used or taken back, None if it waits.
    """

    entry: AuditEntry
    digest: str
    at: str | None = None


@dataclass(slots=True)
class ToldCall:
    """How the last call must stand, apart from the verb, attempt and outcome that `Told` has.

    `began` is the entry that began it. `opens_ms` is when its window opened, in ms UTC. `stands` is
    the digest of what a roll back left. `cause` is why a commit or roll back was claimed, None if
    none was. `deferred` is whether a commit follows, by the last beginning.
    """

    began: AuditEntry
    opens_ms: int | Untold | None = UNTOLD
    tries: int | Untold = 1
    doubted: bool | Untold = False
    stands: str | Untold = UNTOLD
    cause: ToldCause | Untold | None = None
    deferred: bool | Untold | None = UNTOLD


@dataclass(slots=True)
class Told:
    """How a row must stand after the entries so far.

    `moved` is the last entry that changed its state, `begun` the one that began its execution.
    `stops` are the people whose ❌ waits for the answer of a tool, `stoppers` all who stopped it
    while it was under way. `kept` is the entry of the first ❌ that waits, `kept_words` its reason.
    `receipt` is the digest of what its tool answered. `window` is when its window closes, in ms
    UTC; `window_s` is how long a window lasts. `needs_people` is True if only people count towards
    the quorum. `rules` is what each rule found, `findings` the digest of all findings. `committed`
    is True once a commit was claimed. `policy` is the one under which it was last judged, `owed` is
    True while evidence has objected that could not decide yet. `not_closed` is the last entry of a
    closing that failed. `reason_due_ms` is until when the end waits for the words of a bare ❌.
    `early` are the people whose ✅ came after it began. `odd` are sentences about entries that
    cannot follow on those before them.
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
    early: set[str] = field(default_factory=set)
    odd: list[str] = field(default_factory=list)


def person_of(entry: AuditEntry) -> str:
    """Return the id of the actor of an entry, empty if it has none."""
    return entry.event.actor.id if entry.event.actor else ""
