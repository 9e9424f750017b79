"""The other books in memory."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Any

from bot.storage.books import REMEMBERED_MS
from bot.storage.json_text import dump, load
from bot.storage.memory_proposals import ProposalTable
from bot.storage.memory_tables import Journal, Table
from bot.storage.record_rows import audit_row, entry_of, exported_of
from lifecycle.audit import GENESIS, AuditEntry, AuditEvent, chained
from lifecycle.ports import StoreUnavailable
from lifecycle.records import EvidencePacket, Money, PermitRecord, Task
from lifecycle.review import Decision, Review
from lifecycle.state import State


class ReviewTable:
    """Implements the port Reviews."""

    def __init__(self, journal: Journal, must_exist: Callable[[str], None]) -> None:
        """Begin empty."""
        self._rows: Table[int, Review] = Table(journal)
        self._must_exist = must_exist

    def of(self, proposal_id: str) -> Sequence[Review]:
        return [review for review in self._rows if review.proposal_id == proposal_id]

    def add(self, review: Review) -> None:
        self._must_exist(review.proposal_id)
        self._rows.put(len(self._rows), review)

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        valid = [
            (number, review)
            for number, review in self._rows.items()
            if review.proposal_id == proposal_id
            and review.decision is Decision.APPROVE
            and review.counts
            and person in (None, review.person)
        ]
        for number, review in valid:
            self._rows.put(number, replace(review, void_why=why))
        return len(valid)

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        stops = [
            number
            for number, review in self._rows.items()
            if review.proposal_id == proposal_id
            and review.person == person
            and review.decision is not Decision.APPROVE
        ]
        for number in stops[-1:]:
            stop = self._rows.get(number)
            if stop is not None:
                self._rows.put(number, replace(stop, reason=reason))


class AuditTable:
    """Implements the port AuditTrail."""

    def __init__(self, journal: Journal) -> None:
        """Begin with an empty chain."""
        self._rows: Table[int, dict[str, Any]] = Table(journal)

    def append(self, event: AuditEvent) -> AuditEntry:
        seq, head_hash = self.head()
        entry, details = chained(event, seq + 1, head_hash)
        self._rows.put(entry.seq, audit_row(entry, details.decode()))
        return entry

    def head(self) -> tuple[int, str]:
        last = self._rows.get(len(self._rows))
        return (last["seq"], last["entry_hash"]) if last else (0, GENESIS)

    def of(self, proposal_id: str) -> Sequence[AuditEntry]:
        return [entry_of(row) for row in self._rows if row["proposal_id"] == proposal_id]

    def page_of(self, proposal_id: str, after_seq: int, limit: int) -> Sequence[AuditEntry]:
        behind = (row for row in self._rows if row["seq"] > after_seq)
        found = (entry_of(row) for row in behind if row["proposal_id"] == proposal_id)
        return list(islice(found, limit))

    def first_of(self, proposal_id: str) -> int | None:
        return next((row["seq"] for row in self._rows if row["proposal_id"] == proposal_id), None)

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        wanted = range(after_seq + 1, min(after_seq + limit, len(self._rows)) + 1)
        return [exported_of(row) for seq in wanted if (row := self._rows.get(seq))]


class EvidenceTable:
    """Implements the port EvidenceBook."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, EvidencePacket] = Table(journal)

    def get(self, evidence_id: str) -> EvidencePacket | None:
        return self._rows.get(evidence_id)

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        return sorted(p.evidence_id for p in self._rows if p.evidence_id > after_id)[:limit]

    def put(self, packet: EvidencePacket) -> None:
        copied = replace(packet, payload=load(dump(packet.payload)))
        self._rows.put(packet.evidence_id, copied)


class SpendingTable:
    """Implements the port Spending."""

    def __init__(self, journal: Journal, proposals: ProposalTable) -> None:
        """Begin empty."""
        self._rows: Table[int, tuple[str, str, Money]] = Table(journal)
        self._proposals = proposals

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        for money in amounts:
            self._proposals.must_exist(proposal_id)
            self._rows.put(len(self._rows), (actor, proposal_id, money))

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        sums: defaultdict[str, Decimal] = defaultdict(Decimal)
        for spender, proposal_id, money in self._rows:
            if spender == actor and proposal_id != but_id and self._holds(proposal_id, since_ms):
                sums[money.currency] += money.amount
        return dict(sums)

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        proposal = self._proposals.get(proposal_id)
        sums: defaultdict[str, Decimal] = defaultdict(Decimal)
        if (
            proposal is None
            or proposal.decided_at_ms != ended_at_ms
            or not self._holds(proposal_id, 0)
        ):
            return {}
        for spender, of_id, money in self._rows:
            if (spender, of_id) == (actor, proposal_id):
                sums[money.currency] += money.amount
        return dict(sums)

    def _holds(self, proposal_id: str, since_ms: int) -> bool:
        proposal = self._proposals.get(proposal_id)
        if proposal is None or proposal.state is not State.COMPLETED:
            return proposal is not None and not proposal.terminal
        return (proposal.decided_at_ms or 0) >= since_ms


class UseTable:
    """Implements the port Uses."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[tuple[str, str], tuple[int, ...]] = Table(journal)

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        kept = self.since(actor, tool, at_ms - REMEMBERED_MS - 1)
        self._rows.put((actor, tool), (*kept, at_ms))

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        times = self._rows.get((actor, tool)) or ()
        return sorted(at_ms for at_ms in times if at_ms > after_ms)


class PermitTable:
    """Implements the port Permits."""

    def __init__(self, journal: Journal, must_exist: Callable[[str], None]) -> None:
        """Begin empty."""
        self._rows: Table[str, PermitRecord] = Table(journal)
        self._must_exist = must_exist

    def add(self, permit: PermitRecord) -> None:
        self._must_exist(permit.proposal_id)
        if self._rows.get(permit.permit_id) is not None:
            raise StoreUnavailable(f"There already is a permit {permit.permit_id}.")
        self._rows.put(permit.permit_id, permit)

    def get(self, permit_id: str) -> PermitRecord | None:
        return self._rows.get(permit_id)

    def of(self, proposal_id: str, verb: str, attempt: int) -> PermitRecord | None:
        wanted = (proposal_id, verb, attempt)
        found = [p for p in self._rows if (p.proposal_id, p.verb, p.attempt) == wanted]
        return found[-1] if found else None

    def all_of(self, proposal_id: str) -> Sequence[PermitRecord]:
        found = [permit for permit in self._rows if permit.proposal_id == proposal_id]
        return sorted(found, key=lambda permit: (permit.verb, permit.attempt))

    def consume(self, permit_id: str, at_ms: int) -> bool:
        permit = self._rows.get(permit_id)
        if permit is None or permit.consumed_at_ms is not None:
            return False
        self._rows.put(permit_id, replace(permit, consumed_at_ms=at_ms))
        return True


class BacklogTable:
    """Implements the port Backlog."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[tuple[str, str], Task] = Table(journal)

    def put(self, task: Task) -> None:
        self._rows.put((task.actor, task.task_id), task)

    def get(self, actor: str, task_id: str) -> Task | None:
        return self._rows.get((actor, task_id))

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        found = [t for t in self._rows if t.actor == actor and t.task_id > after_id]
        return sorted(found, key=lambda task: task.task_id)[:limit]


class FlagTable:
    """Implements the port Flags."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, str] = Table(journal)
        self._events: Table[tuple[str, str], int] = Table(journal)

    def get(self, name: str) -> Any:
        text = self._rows.get(name)
        return load(text) if text is not None else None

    def put(self, name: str, value: Any) -> None:
        self._rows.put(name, dump(value))

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        before_ms = at_ms - REMEMBERED_MS
        seen_at_ms = self._events.get((surface, event_id))
        if seen_at_ms is not None and seen_at_ms > before_ms:
            return False
        for key in [key for key, seen_ms in self._events.items() if seen_ms <= before_ms]:
            self._events.drop(key)
        self._events.put((surface, event_id), at_ms)
        return True
