"""The books over SQLite, but for proposals, trail and cards; their SQL stands in queries.sql."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from bot.storage.desk import Desk
from bot.storage.json_text import dump, load
from bot.storage.queries import QUERIES
from bot.storage.record_rows import (
    packet_of,
    packet_row,
    permit_of,
    permit_row,
    review_of,
    review_row,
    task_of,
)
from lifecycle.records import EvidencePacket, Money, PermitRecord, Task
from lifecycle.review import Review

#: How long events of platforms and uses of tools are remembered.
REMEMBERED_MS: Final = 86_400_000
#: When what is open counts: for as long as it is (query `add_spending`).
_UNTIL_IT_ENDS: Final = 2**63 - 1
#: Flags that are longer are read each time.
_SHORT_FLAG: Final = 1_024


class Book:
    """A connection and the statements by name."""

    def __init__(self, connection: sqlite3.Connection, desk: Desk) -> None:
        """Take the connection on whose thread every method is called, and the unit's desk."""
        self.connection = connection
        self.desk = desk

    def _all(self, query: str, **values: Any) -> list[Any]:
        return self.connection.execute(QUERIES[query], values).fetchall()

    def _one(self, query: str, **values: Any) -> Any:
        return self.connection.execute(QUERIES[query], values).fetchone()

    def _do(self, query: str, values: Mapping[str, Any]) -> int:
        return self.connection.execute(QUERIES[query], values).rowcount


class ReviewBook(Book):
    """What people decided."""

    def of(self, proposal_id: str) -> Sequence[Review]:
        """Return all reviews of a proposal in the order in which they came."""
        if self.desk.is_new(proposal_id):
            return []
        found = self.desk.reviews.get(proposal_id)
        if found is None:
            rows = self._all("reviews_of", proposal_id=proposal_id)
            found = self.desk.reviews[proposal_id] = tuple(map(review_of, rows))
        return list(found)

    def add(self, review: Review) -> None:
        """Append one review."""
        self.desk.must_be_written(review.proposal_id)
        known = self.desk.reviews
        if review.proposal_id in known:
            known[review.proposal_id] += (review,)
        self._do("add_review", review_row(review))

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        """Make this person's approvals void, everyone's when None; return how many were."""
        self.desk.reviews.pop(proposal_id, None)
        return self._do("void_reviews", {"proposal_id": proposal_id, "person": person, "why": why})

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        """Set the reason of this person's latest stop."""
        self.desk.reviews.pop(proposal_id, None)
        values = {"proposal_id": proposal_id, "person": person, "reason": reason}
        self._do("give_reason", values)


class RecordedEvidence(Book):
    """What sources observed."""

    def get(self, evidence_id: str) -> EvidencePacket | None:
        """Return the packet with this id."""
        row = self._one("evidence", evidence_id=evidence_id)
        return packet_of(row) if row else None

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids of packets behind `after_id`, in order."""
        rows = self._all("evidence_after", after_id=after_id, limit=limit)
        return [row["evidence_id"] for row in rows]

    def put(self, packet: EvidencePacket) -> None:
        """Record a packet; the latest under an id is the one that counts."""
        self._do("put_evidence", packet_row(packet))


class SpendingBook(Book):
    """Amounts of money for the daily limit."""

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        """Note the amounts of a new proposal; the desk settles them when it ends."""
        for money in amounts:
            values = {"actor": actor, "proposal_id": proposal_id}
            amount = {"currency": money.currency, "amount": str(money.amount)}
            self.desk.add_beside("add_spending", values | amount)

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        """Sum by currency, exactly, what is open and what was completed since then."""
        self.desk.write_all_but(but_id)
        return _sums(self._all("spent", actor=actor, since_ms=since_ms, but_id=but_id))

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        """Sum by currency what one proposal counts for."""
        self.desk.write()
        at_ms = _UNTIL_IT_ENDS if ended_at_ms is None else ended_at_ms
        values = {"actor": actor, "proposal_id": proposal_id, "at_ms": at_ms}
        return _sums(self._all("spending_of", **values))


def _sums(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Decimal]:
    """Sum by currency, exactly."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        sums[row["currency"]] += Decimal(row["amount"])
    return dict(sums)


class UseBook(Book):
    """Accepted evaluations of the last 24 hours."""

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        """Note one accepted evaluation and forget some old ones."""
        self._do("add_use", {"actor": actor, "tool": tool, "at_ms": at_ms})
        self._do("forget_uses", {"before_ms": at_ms - REMEMBERED_MS})

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        """Return the times strictly after `after_ms`, oldest first."""
        rows = self._all("uses_since", actor=actor, tool=tool, after_ms=after_ms)
        return [row["at_ms"] for row in rows]


class PermitBook(Book):
    """Permits by id; each is used once."""

    def add(self, permit: PermitRecord) -> None:
        """Store an issued permit."""
        self.desk.must_be_written(permit.proposal_id)
        self._do("add_permit", permit_row(permit))

    def get(self, permit_id: str) -> PermitRecord | None:
        """Return an issued permit."""
        row = self._one("permit", permit_id=permit_id)
        return permit_of(row) if row else None

    def of(self, proposal_id: str, verb: str, attempt: int) -> PermitRecord | None:
        """Return the latest permit of one verb and attempt of a proposal."""
        row = self._one("permit_of", proposal_id=proposal_id, verb=verb, attempt=attempt)
        return permit_of(row) if row else None

    def all_of(self, proposal_id: str) -> Sequence[PermitRecord]:
        """Return every permit of a proposal, by verb and attempt."""
        return [permit_of(row) for row in self._all("permits_of", proposal_id=proposal_id)]

    def consume(self, permit_id: str, at_ms: int) -> bool:
        """Use the permit up; False where it was used before or is not known."""
        return self._do("consume_permit", {"permit_id": permit_id, "at_ms": at_ms}) == 1


class BacklogBook(Book):
    """Tasks that proposals came from."""

    def put(self, task: Task) -> None:
        """Keep where a proposer's task stands."""
        self._do("put_task", {name: getattr(task, name) for name in Task.__slots__})

    def get(self, actor: str, task_id: str) -> Task | None:
        """Return the proposer's task."""
        row = self._one("task", actor=actor, task_id=task_id)
        return task_of(row) if row else None

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        """Return a proposer's tasks by id, a page at a time."""
        rows = self._all("tasks", actor=actor, limit=limit, after_id=after_id)
        return [task_of(row) for row in rows]


class FlagBook(Book):
    """Small facts that survive a restart."""

    def get(self, name: str) -> Any:
        """Return the JSON value of a flag, None where it was never set.

        What somebody wrote there that is no JSON is a text like any other: whoever asks expects
        something else, and knows what to do then.
        """
        flags = self.desk.flags
        if name in flags:
            text = flags[name]
        else:
            row = self._one("flag", name=name)
            text = row["value"] if row else None
            if text is None or len(text) <= _SHORT_FLAG:
                flags[name] = text
        if text is None:
            return None
        try:
            return load(text)
        except (ValueError, TypeError, RecursionError):
            return str(text)

    def put(self, name: str, value: Any) -> None:
        """Set a flag."""
        self.desk.flags.pop(name, None)
        self._do("put_flag", {"name": name, "value": dump(value)})

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        """Remember an event and forget some old ones; False where it was known for 24 hours."""
        before_ms = at_ms - REMEMBERED_MS
        values = {"surface": surface, "event_id": event_id, "at_ms": at_ms}
        first = self._do("remember_event", values | {"before_ms": before_ms}) == 1
        self._do("forget_events", {"before_ms": before_ms})
        return first
