"""The audit trail over SQLite: the chain grows in the transaction of what it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.storage.books import Book
from bot.storage.record_rows import audit_row, entry_of, exported_of
from lifecycle.audit import GENESIS, AuditEntry, AuditEvent, chained_with_details


class AuditBook(Book):
    """The append-only chain.

    `known_head` spares a look at the table for every entry of a transaction. It is forgotten when
    a transaction begins, since a command line may have written meanwhile, and when a unit is
    undone, since its entries are gone then.
    """

    known_head: tuple[int, str] | None = None

    def append(self, event: AuditEvent) -> AuditEntry:
        """Chain one event behind the head."""
        seq, head_hash = self.head()
        entry, details = chained_with_details(event, seq + 1, head_hash)
        self._do("append_audit", audit_row(entry, details.decode()))
        self.known_head = (entry.seq, entry.entry_hash)
        return entry

    def head(self) -> tuple[int, str]:
        """Return seq and hash of the last entry; (0, 64 zeros) when empty."""
        if self.known_head is None:
            row = self._one("audit_head")
            self.known_head = (row["seq"], row["entry_hash"]) if row else (0, GENESIS)
        return self.known_head

    def of(self, proposal_id: str) -> Sequence[AuditEntry]:
        """Return the trail of one proposal, oldest first."""
        return [entry_of(row) for row in self._all("audit_of", proposal_id=proposal_id)]

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return raw entries after `after_seq` exactly as stored."""
        usual = self.connection.text_factory
        # Bytes that are no UTF-8 must be reported as a broken link, not stop the verification.
        self.connection.text_factory = _any_text
        try:
            rows = self._all("exported", after_seq=after_seq, limit=limit)
        finally:
            self.connection.text_factory = usual
        return [exported_of(row) for row in rows]


def _any_text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
