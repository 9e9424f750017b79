"""These small frozen records stand beside a proposal in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

#: Nothing waits longer than this to be shown or told, whatever a platform asks for.
LONGEST_WAIT_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Card:
    """The card of one proposal on one surface; it is stale while `shown_version` <
    `wanted_version`.

    `message_ids` are all messages it ever stood in, the current one last; `full` says that every
    parameter can be seen there in full. `claim` is a nonce that stays the same over attempts to
    post. Times in ms UTC.
    """

    proposal_id: str
    surface: str
    wanted_version: int
    shown_version: int = 0
    message_ids: tuple[str, ...] = ()
    delivered: bool = False
    full: bool = True
    attempts: int = 0
    retry_at_ms: int = 0
    why: str = ""
    posted_at_ms: int | None = None
    claim: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """Something that must be told once; the `key` makes sure of it.

    `surface` is where it is delivered, `recipient` an id of policy (agent, person) or "" for the
    channel; `kind` is what it is (answer, ended, announcement, note, summary).
    """

    key: str
    surface: str
    recipient: str
    kind: str
    body: Mapping[str, Any]
    created_at_ms: int
    proposal_id: str | None = None
    not_before_ms: int = 0
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class EvidencePacket:
    """What a source observed; times in ms UTC."""

    evidence_id: str
    source: str
    observed_at_ms: int
    recorded_at_ms: int
    payload: Mapping[str, Any]


#: In sums by currency: an amount whose currency cannot be read, and which may be of each.
ANY_CURRENCY: Final = ""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount with its currency, exact."""

    currency: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class PermitRecord:
    """An issued permit as stored: `token` is the signed string, which is shown to nobody else."""

    permit_id: str
    proposal_id: str
    verb: str
    attempt: int
    token: str
    expires_at_ms: int
    consumed_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A task of its proposer's own in the backlog; `state` is `done` or `backlog`."""

    actor: str
    task_id: str
    state: str
    proposal_id: str
    reason: str
    explanation: str
    updated_at_ms: int
