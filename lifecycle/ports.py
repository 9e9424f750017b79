"""The ports: what the law needs of the world. Every method is one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from lifecycle.audit import AuditEntry, AuditEvent
from lifecycle.proposal import Proposal
from lifecycle.records import (
    Card,
    EvidencePacket,
    Message,
    Money,
    PermitRecord,
    Task,
)
from lifecycle.review import Review

T = TypeVar("T")


class StoreUnavailable(Exception):
    """The store could not commit or read; nothing of the unit has happened."""


class Proposals(Protocol):
    """The proposals, and the questions that the running bot asks about them."""

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal with exactly this id."""

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids that begin with `prefix`."""

    def add(self, proposal: Proposal) -> None:
        """Insert a new proposal; its id must be free."""

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Write `proposal` if (state, version) in the store still are those of `seen`."""

    def open_like(self, actor: str, content_digest: str) -> Proposal | None:
        """Return this proposer's open proposal with this content."""

    def refused_like(self, actor: str, likeness_digest: str, since_ms: int) -> Proposal | None:
        """Return the proposer's latest proposal of this likeness refused by a person since then."""

    def refused_tool_lately(self, actor: str, tool: str, since_ms: int) -> bool:
        """Say whether a person refused this proposer's use of this tool since then."""

    def count_open(self, actor: str) -> int:
        """Count the proposer's proposals that are not terminal."""

    def waiting(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones: attention first, then nearest deadline."""

    def count_waiting(self) -> int:
        """Count pending and sentinel_approved proposals."""

    def executing(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return executing ones: attention first, then nearest window."""

    def count_executing(self) -> int:
        """Count executing proposals."""

    def due_to_close(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return executing, done ones whose window has closed and that nothing holds back."""

    def next_close_ms(self) -> int | None:
        """Return when the next window closes, whatever the time is now."""

    def due_to_expire(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones whose deadline has passed."""

    def ready_to_open(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return sentinel_approved ones with an opener, by id, that have not begun."""

    def unchecked(self, limit: int) -> Sequence[Proposal]:
        """Return pending ones without a verdict: the process died before Sentinel answered."""

    def in_flight(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return executing ones whose last call is running."""

    def with_kept_stop(self, limit: int) -> Sequence[Proposal]:
        """Return executing ones that keep a ❌ which could not be carried out yet."""

    def checked_under_other(self, policy_digest: str, limit: int) -> Sequence[Proposal]:
        """Return open ones last checked under another policy, a page at a time."""

    def reasons_due(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return terminal ones whose wait for a reason by reply has passed."""

    def to_remind(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return waiting ones that need people, are past three quarters of their time, unreminded."""

    def bind_evidence(self, proposal_id: str, evidence_ids: Iterable[str]) -> None:
        """Note which evidence a new proposal names."""

    def bound_to(self, evidence_id: str, limit: int) -> Sequence[Proposal]:
        """Return open proposals that name this evidence."""

    def with_attention(self, limit: int) -> Sequence[Proposal]:
        """Return the proposals that a person must look at, terminal ones included."""


class Reviews(Protocol):
    """What people decided, one row a decision, never deleted."""

    def of(self, proposal_id: str) -> Sequence[Review]:
        """Return all reviews of a proposal in the order in which they came, void ones included."""

    def add(self, review: Review) -> None:
        """Append one review."""

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        """Make this person's approvals void, everyone's when None; return how many were."""

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        """Set the reason of this person's latest stop, given afterwards by reply."""


class AuditTrail(Protocol):
    """The append-only chain."""

    def append(self, event: AuditEvent) -> AuditEntry:
        """Chain one event behind the head."""

    def head(self) -> tuple[int, str]:
        """Return seq and hash of the last entry; (0, 64 zeros) when empty."""

    def of(self, proposal_id: str) -> Sequence[AuditEntry]:
        """Return the trail of one proposal, oldest first."""

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return raw entries after `after_seq` exactly as stored, for verification and export."""


class Cards(Protocol):
    """Which card of which proposal stands where, and in which version."""

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        """Note that this surface must show at least `version`."""

    def get(self, proposal_id: str, surface: str) -> Card | None:
        """Return the card of a proposal on one surface."""

    def of(self, proposal_id: str) -> Sequence[Card]:
        """Return the cards of a proposal on all surfaces."""

    def put(self, card: Card) -> None:
        """Write what became of a card."""

    def stale(self, surface: str, now_ms: int, limit: int) -> Sequence[Card]:
        """Return cards to post or edit now, oldest wish first."""

    def find(self, surface: str, message_id: str) -> Card | None:
        """Return the card that stands, or stood, in this message."""

    def open_on(self, surface: str, limit: int, after_id: str = "") -> Sequence[Card]:
        """Return this surface's cards of proposals that are not terminal, by proposal id."""


class Outbox(Protocol):
    """Messages that must arrive: kept until delivered."""

    def add(self, message: Message) -> None:
        """Keep a message until it is delivered; the same key again adds nothing."""

    def waiting(self, surface: str, now_ms: int, limit: int) -> Sequence[Message]:
        """Return undelivered messages for this surface that are due, oldest first."""

    def delivered(self, key: str, at_ms: int) -> None:
        """Note that a message has arrived."""

    def failed(self, key: str, retry_at_ms: int, why: str) -> None:
        """Note a failed attempt and when the next is due."""


class EvidenceBook(Protocol):
    """Recorded evidence."""

    def get(self, evidence_id: str) -> EvidencePacket | None:
        """Return the packet with this id."""

    def put(self, packet: EvidencePacket) -> None:
        """Record a packet; the latest under an id is the one that counts."""


class Spending(Protocol):
    """Amounts of money, kept for the daily limit."""

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money], at_ms: int) -> None:
        """Note the amounts of a new proposal."""

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        """Sum by currency what this proposer's open and completed proposals since then hold."""


class Uses(Protocol):
    """Accepted evaluations, for the rate of an agent and a tool."""

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

    def consume(self, permit_id: str, at_ms: int) -> bool:
        """Use the permit up; False where it was used before or is not known."""


class Backlog(Protocol):
    """Tasks that proposals came from."""

    def done(self, task_id: str, proposal_id: str, at_ms: int) -> None:
        """Mark the task as done."""

    def put_back(
        self, task_id: str, proposal_id: str, reason: str, explanation: str, at_ms: int
    ) -> None:
        """Put the task back with the explanation."""

    def get(self, task_id: str) -> Task | None:
        """Return the task."""

    def tasks(self, limit: int, after_id: str = "") -> Sequence[Task]:
        """Return tasks by id, a page at a time."""


class Flags(Protocol):
    """Small facts that must survive a restart: the freeze, the policies seen, the last anchor."""

    def get(self, name: str) -> Any:
        """Return the JSON value of a flag, None where it was never set."""

    def put(self, name: str, value: Any) -> None:
        """Set a flag."""

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        """Remember an event; False where it was remembered before within 24 hours."""


class Transaction(Protocol):
    """All books, open within one transaction of the store."""

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


class ProposalStore(Protocol):
    """One writer, many readers. A unit runs whole in one transaction or not at all."""

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` in a transaction and return its value once that is durable.

        An exception of the unit undoes it alone and is raised here; StoreUnavailable where the
        store itself failed.
        """

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on a consistent snapshot; it must not write."""

    async def close(self) -> None:
        """Finish what was accepted and let go of the file."""


class Clock(Protocol):
    """Time, in UTC."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, never moving backwards within a process."""

    async def sleep(self, seconds: float) -> None:
        """Wait; a fake clock returns when it is told."""


class ToolFailed(Exception):
    """The tool failed and left nothing behind."""


@dataclass(frozen=True, slots=True)
class Call:
    """All that a tool is told; read from the stored bytes, nothing is added."""

    verb: str
    proposal_id: str
    digest: str
    idempotency_key: str
    tool: str
    target: Mapping[str, Any]
    parameters: Mapping[str, Any]
    receipt: Mapping[str, Any] | None
    permit: str
    limit_s: float
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the object that webhook and command tools are sent."""
        return {
            "verb": self.verb,
            "proposal_id": self.proposal_id,
            "digest": self.digest,
            "idempotency_key": self.idempotency_key,
            "tool": self.tool,
            "target": dict(self.target),
            "parameters": dict(self.parameters),
            "receipt": dict(self.receipt) if self.receipt is not None else None,
        }


class Tool(Protocol):
    """What acts on the world. ToolFailed means that nothing is left behind, any other error unknown."""

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Act, or stage what commit will carry out; return the receipt."""

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Carry out what was staged; a tool that acted at once does nothing here."""

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Take back what `call.receipt` names; `still_stands` in the answer lists what remains."""


class Toolbox(Protocol):
    """The tools by name."""

    def tool(self, name: str) -> Tool:
        """Return the tool; KeyError where the config does not know it."""

    def real_path(self, path: str) -> str:
        """Return the real path of `path`, all links followed."""

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return the defaults that the tool adds by config, for the card; no secrets."""


class Notifier(Protocol):
    """The surfaces seen from the law; no method raises for a platform's fault."""

    def nudge(self) -> None:
        """Say that cards or messages may be waiting; returns at once."""

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""

    async def read_cards(self, proposal_id: str) -> bool:
        """Apply decisions found on the cards; True where one surface was read or had no gap."""

    async def lost_members(self, people: Iterable[str]) -> frozenset[str]:
        """Return those of `people` who have left, are banned or cannot be read."""


class Spool(Protocol):
    """Stops that the store could not take, kept on disk until it can."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk."""

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait."""

    def clear(self, count: int) -> None:
        """Forget the first `count` stops, which are in the store now."""
