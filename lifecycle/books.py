"""The books of the store are interfaces of what a unit reads and writes in one transaction.

Each book holds one kind of row. `bot/storage` implements them twice, in SQLite and in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from lifecycle.audit import AuditEntry, AuditEvent
from lifecycle.proposal_book import Proposals
from lifecycle.records import Card, EvidencePacket, Message, Money, PermitRecord, Task
from lifecycle.review import Review


class Reviews(Protocol):
    """What people decided: one row for each decision, never deleted."""

    def of(self, proposal_id: str) -> Sequence[Review]:
        """Return all reviews of a proposal in the order in which they came, void ones included."""

    def add(self, review: Review) -> None:
        """Append one review."""

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        """Make this person's approvals void, or everyone's if None; return how many became void."""

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        """Set the reason of this person's latest stop, given afterwards by reply."""


class AuditTrail(Protocol):
    """The append-only chain of audit entries."""

    def append(self, event: AuditEvent) -> AuditEntry:
        """Chain one event behind the head."""

    def head(self) -> tuple[int, str]:
        """Return seq and hash of the last entry; (0, 64 zeros) when empty."""

    def without_attempts(self, proposal_id: str) -> Sequence[AuditEntry]:
        """Return the trail of one proposal, oldest first, without mere attempts
        (`is_mere_attempt`): all that the law reads, however often strangers tried something."""

    def newest_attempts(self, proposal_id: str, limit: int) -> Sequence[AuditEntry]:
        """Return the newest mere attempts in the trail of one proposal, at most `limit`, oldest
        first."""

    def page_of(self, proposal_id: str, after_seq: int, limit: int) -> Sequence[AuditEntry]:
        """Return at most `limit` entries of one proposal behind `after_seq`, oldest first."""

    def first_of(self, proposal_id: str) -> int | None:
        """Return the seq of its first entry, None if there is none; the entry is not read."""

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return raw entries after `after_seq` exactly as stored, for verification and export."""


class Cards(Protocol):
    """Where each proposal's cards stand, and which version they show: one row for each surface."""

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        """Note that this surface must show at least `version`."""

    def get(self, proposal_id: str, surface: str) -> Card | None:
        """Return the card of a proposal on one surface."""

    def of(self, proposal_id: str) -> Sequence[Card]:
        """Return the cards of a proposal on all surfaces."""

    def standing(self, proposal_id: str) -> Sequence[Card]:
        """Return the proposal's cards that stand, or stood, somewhere. `wanted_version` in them may
        be that of before this unit."""

    def put(self, card: Card) -> None:
        """Write the row of a card; the version that is wanted of it never becomes an older one."""

    def stale(self, surface: str, now_ms: int, limit: int) -> Sequence[Card]:
        """Return cards that are to be posted or edited now, in the order in which that was first
        wanted; those that failed often come last."""

    def find(self, surface: str, message_id: str) -> Card | None:
        """Return the card that stands, or stood, in this message."""

    def open_on(self, surface: str, limit: int, after_id: str = "") -> Sequence[Card]:
        """Return this surface's cards of open proposals, by proposal id, behind `after_id`."""


class Outbox(Protocol):
    """Messages that must arrive; each is kept until it is delivered."""

    def add(self, message: Message) -> None:
        """Keep a message until it is delivered; the same key again adds nothing."""

    def waiting(self, surface: str, now_ms: int, limit: int, *but: str) -> Sequence[Message]:
        """Return this surface's undelivered messages that are due, the longest due first, except
        those to the recipients in `but`."""

    def delivered(self, key: str, at_ms: int) -> None:
        """Note that a message has arrived."""

    def failed(self, key: str, retry_at_ms: int, why: str) -> None:
        """Note a failed attempt and when the next is due."""


class EvidenceBook(Protocol):
    """The evidence packets on record, one for each id."""

    def get(self, evidence_id: str) -> EvidencePacket | None:
        """Return the packet with this id."""

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids of packets behind `after_id`, in order."""

    def put(self, packet: EvidencePacket) -> None:
        """Record a packet in the place of the one that had its id."""


class Spending(Protocol):
    """Amounts of money, kept for the daily limit."""

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        """Note the amounts of a new proposal."""

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        """Sum by currency what this proposer's proposals count for, except the one of `but_id`.

        Open ones count however old they are, completed ones if they ended at or after `since_ms`.
        One that came after `but_id` counts from its verdict on: before that, its own check counts
        the earlier one, and not the other way round (ADR 0031).
        """

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        """Sum by currency what one proposal counts for: as an open one (None), or as one that was
        completed at `ended_at_ms`. Empty if it does not stand so."""


class Uses(Protocol):
    """Accepted evaluations: they are counted for the rate of a proposer and a tool."""

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        """Note one accepted evaluation."""

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        """Return the times strictly after `after_ms`, oldest first."""


class Permits(Protocol):
    """Permits by id; each is used once."""

    def add(self, permit: PermitRecord) -> None:
        """Store an issued permit."""

    def get(self, permit_id: str) -> PermitRecord | None:
        """Return an issued permit."""

    def of(self, proposal_id: str, verb: str, attempt: int) -> PermitRecord | None:
        """Return the permit of one verb and attempt of a proposal; of several, the latest."""

    def all_of(self, proposal_id: str) -> Sequence[PermitRecord]:
        """Return every permit of a proposal, used up or not, by verb and attempt."""

    def consume(self, permit_id: str, at_ms: int) -> bool:
        """Use the permit up; False if it was used before or is not known."""


class Backlog(Protocol):
    """The tasks that proposals came from, as their proposers know them."""

    def put(self, task: Task) -> None:
        """Keep how a proposer's task stands; another proposer's task of the same id is another."""

    def get(self, actor: str, task_id: str) -> Task | None:
        """Return the proposer's task."""

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        """Return up to `limit` of a proposer's tasks behind `after_id`, by id."""


class Flags(Protocol):
    """Small facts by name that must survive a restart, such as the freeze and the last anchor."""

    def get(self, name: str) -> Any:
        """Return the JSON value of a flag, None if it is not set."""

    def put(self, name: str, value: Any) -> None:
        """Set a flag; None removes it."""

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        """Remember an event of a surface; False if it was remembered before within 24 hours."""


class Transaction(Protocol):
    """All books, open within one transaction of the store; every unit and view is given one."""

    proposals: Proposals
    reviews: Reviews
    audit: AuditTrail
    cards: Cards
    outbox: Outbox
    evidence: EvidenceBook
    spending: Spending
    uses: Uses
    permits: Permits
    backlog: Backlog
    flags: Flags

    def write_down(self) -> None:
        """Write what this unit has changed so far, so that what the store refuses raises here."""
