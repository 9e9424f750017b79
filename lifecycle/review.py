"""A review is one person's decision, with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

#: Reasons of ends that a person's ❌ decided: words for it may still follow.
BY_A_CROSS: Final = frozenset({"rejected_by_person", "rolled_back_by_person"})

#: Who is no member now: a person on every surface, or (person, surface) on that one alone.
Absent: TypeAlias = str | tuple[str, str]


class Decision(StrEnum):
    """What a review says."""

    APPROVE = "approve"
    REJECT = "reject"
    ROLL_BACK = "roll_back"


@dataclass(frozen=True, slots=True)
class Review:
    """One person's decision; `at_ms` in ms UTC, `void_why` set once it no longer counts."""

    proposal_id: str
    person: str
    decision: Decision
    reason: str
    at_ms: int
    surface: str
    event_id: str | None = None
    found_late: bool = False
    void_why: str | None = None

    @property
    def counts(self) -> bool:
        """True while nothing made it void."""
        return self.void_why is None
