"""These are the five tiers as data: who opens the gate, and how long the window is (section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lifecycle.state import State, Trigger


class Tier(StrEnum):
    """How much a tool may do without asking; the value is what people read."""

    AUTO = "AUTO"
    AUTO_PLUS = "AUTO+"
    PROPOSE = "PROPOSE"
    CONFIRM = "CONFIRM"
    BLOCK = "BLOCK"


class Puller(StrEnum):
    """Who may pull a trigger."""

    SENTINEL = "sentinel"
    PERSON = "person"
    ORCHESTRATOR = "orchestrator"
    PROPOSER = "proposer"
    CLOCK = "clock"
    TOOL = "tool"
    TIER = "tier"


class CardKind(StrEnum):
    """What people see of a proposal in the channel."""

    NONE = "none"
    NOTE_AFTER = "note_after"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class TierPolicy:
    """One row of the table of tiers; `window_s` is 0 if there is no window by default."""

    quorum: int
    window_s: int
    card: CardKind


TIER_POLICIES: Final = {
    Tier.AUTO: TierPolicy(quorum=0, window_s=0, card=CardKind.NONE),
    Tier.AUTO_PLUS: TierPolicy(quorum=0, window_s=0, card=CardKind.NOTE_AFTER),
    Tier.PROPOSE: TierPolicy(quorum=1, window_s=900, card=CardKind.LIVE),
    Tier.CONFIRM: TierPolicy(quorum=1, window_s=0, card=CardKind.LIVE),
    Tier.BLOCK: TierPolicy(quorum=0, window_s=0, card=CardKind.NONE),
}

#: Config can add to these, never take away.
ALWAYS_BLOCKED: Final = frozenset({"financial-transfer", "legal-action", "credential-rotation"})

_STOPPERS: Final = frozenset({Puller.SENTINEL, Puller.PERSON, Puller.PROPOSER, Puller.CLOCK})
_ENDERS: Final = frozenset({Puller.CLOCK, Puller.PERSON, Puller.TOOL})
_UNDOERS: Final = frozenset({Puller.PERSON, Puller.SENTINEL, Puller.TOOL})
_NOBODY: Final[frozenset[Puller]] = frozenset()
_BLOCKED: Final = {
    (State.PENDING, Trigger.REJECT): frozenset({Puller.TIER}),
    (State.SENTINEL_APPROVED, Trigger.REJECT): _STOPPERS | {Puller.TIER},
}


def _row(
    opener: frozenset[Puller], stoppers: frozenset[Puller]
) -> dict[tuple[State, Trigger], frozenset[Puller]]:
    return {
        (State.PENDING, Trigger.SENTINEL_APPROVE): frozenset({Puller.SENTINEL}),
        (State.PENDING, Trigger.REJECT): stoppers,
        (State.SENTINEL_APPROVED, Trigger.EXECUTE): opener,
        (State.SENTINEL_APPROVED, Trigger.REJECT): stoppers,
        (State.EXECUTING, Trigger.COMPLETE): _ENDERS,
        (State.EXECUTING, Trigger.ROLL_BACK): _UNDOERS,
    }


#: For each tier and each row of TRANSITIONS: who may pull it. Nobody may pull one that is absent.
PULLERS: Final = {
    Tier.AUTO: _row(frozenset({Puller.SENTINEL}), _STOPPERS),
    Tier.AUTO_PLUS: _row(frozenset({Puller.SENTINEL}), _STOPPERS),
    Tier.PROPOSE: _row(
        frozenset({Puller.ORCHESTRATOR, Puller.PERSON}), _STOPPERS | {Puller.ORCHESTRATOR}
    ),
    Tier.CONFIRM: _row(frozenset({Puller.PERSON}), _STOPPERS),
    Tier.BLOCK: _BLOCKED,
}


def pullers(tier: Tier, state: State, trigger: Trigger) -> frozenset[Puller]:
    """Return who may pull `trigger` on a proposal of `tier` that stands in `state`."""
    return PULLERS[tier].get((state, trigger), _NOBODY)
