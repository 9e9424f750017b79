"""The six states and the six moves between them are the whole lifecycle as data (seed 002)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class State(StrEnum):
    """Where a proposal stands. Participles, the same in code, database and docs."""

    PENDING = "pending"
    SENTINEL_APPROVED = "sentinel_approved"
    EXECUTING = "executing"
    COMPLETED = "completed"
    ROLLED_BACK = "rolled_back"
    REJECTED = "rejected"

    @property
    def terminal(self) -> bool:
        """True if nothing can follow."""
        return self in TERMINAL

    @property
    def open(self) -> bool:
        """True until a terminal state is reached; the meaning of *open* everywhere."""
        return self not in TERMINAL


class Trigger(StrEnum):
    """The verb of a move; each leads to exactly one state."""

    SENTINEL_APPROVE = "sentinel_approve"
    EXECUTE = "execute"
    COMPLETE = "complete"
    ROLL_BACK = "roll_back"
    REJECT = "reject"


class Transition(NamedTuple):
    """One row of the lifecycle table."""

    source: State
    trigger: Trigger
    target: State


TERMINAL: Final = frozenset({State.COMPLETED, State.ROLLED_BACK, State.REJECTED})

TRANSITIONS: Final = (
    Transition(State.PENDING, Trigger.SENTINEL_APPROVE, State.SENTINEL_APPROVED),
    Transition(State.PENDING, Trigger.REJECT, State.REJECTED),
    Transition(State.SENTINEL_APPROVED, Trigger.EXECUTE, State.EXECUTING),
    Transition(State.SENTINEL_APPROVED, Trigger.REJECT, State.REJECTED),
    Transition(State.EXECUTING, Trigger.COMPLETE, State.COMPLETED),
    Transition(State.EXECUTING, Trigger.ROLL_BACK, State.ROLLED_BACK),
)
