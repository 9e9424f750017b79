"""Keeps the append-only chain for `database: "memory:"`; it is used on the event loop."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from bot.storage.memory_tables import Journal, Table
from bot.storage.record_rows import audit_row, entry_of, exported_of, is_attempt_row
from lifecycle.audit import GENESIS, AuditEntry, AuditEvent, chained


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

    def without_attempts(self, proposal_id: str) -> Sequence[AuditEntry]:
        mine = (row for row in self._rows if row["proposal_id"] == proposal_id)
        return [entry_of(row) for row in mine if not is_attempt_row(row)]

    def newest_attempts(self, proposal_id: str, limit: int) -> Sequence[AuditEntry]:
        mine = (row for row in self._rows if row["proposal_id"] == proposal_id)
        newest = deque((row for row in mine if is_attempt_row(row)), maxlen=limit)
        return [entry_of(row) for row in newest]

    def page_of(self, proposal_id: str, after_seq: int, limit: int) -> Sequence[AuditEntry]:
        behind = (row for row in self._rows if row["seq"] > after_seq)
        found = (entry_of(row) for row in behind if row["proposal_id"] == proposal_id)
        return list(islice(found, limit))

    def first_of(self, proposal_id: str) -> int | None:
        return next((row["seq"] for row in self._rows if row["proposal_id"] == proposal_id), None)

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        wanted = range(after_seq + 1, min(after_seq + limit, len(self._rows)) + 1)
        return [exported_of(row) for seq in wanted if (row := self._rows.get(seq))]
