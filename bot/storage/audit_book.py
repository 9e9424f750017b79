"""Keeps the audit trail over SQLite: an entry is written in the transaction that it records."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.desk import Desk
from bot.storage.queries import QUERIES
from bot.storage.record_rows import audit_row, entry_of, exported_of, is_attempt_row
from lifecycle.audit import GENESIS, AuditEntry, AuditEvent, chained
from lifecycle.ports import RowRefused, StoreUnavailable

#: JSON holds no larger integer exactly, so the hash of a later entry could not be computed.
_LAST_SEQ: Final = 2**53 - 1
_NO_HEAD: Final = (
    "The newest entry of the audit trail is none that Signoff wrote, so no other can follow it. "
    "Somebody changed the database: `signoff audit verify` names the entry."
)


class AuditBook(Book):
    """The append-only chain. It runs on the thread of its connection: the writer's, or a reader's.

    `known_head` saves a query for every entry. It is forgotten when a transaction begins and
    another connection, such as a command line's, has written since the last one. When a unit is
    undone, `known_head` is set back to what it was before the unit, because the entries are gone.
    """

    def __init__(self, connection: sqlite3.Connection, desk: Desk) -> None:
        """Begin without a head and with nothing to write."""
        super().__init__(connection, desk)
        self.known_head: tuple[int, str] | None = None
        #: True while the file holds a foreign trigger or view (`made_by_others`): then every
        #: written entry is read back. It is True until the first transaction has looked.
        self.is_watched = True
        self._unwritten: list[dict[str, Any]] = []

    def append(self, event: AuditEvent) -> AuditEntry:
        """Chain one event to the head. Raises StoreUnavailable if no entry can follow that head."""
        seq, head_hash = self.head()
        if type(seq) is not int or not 0 <= seq < _LAST_SEQ or type(head_hash) is not str:
            raise StoreUnavailable(_NO_HEAD)
        entry, details = chained(event, seq + 1, head_hash)
        self._unwritten.append(audit_row(entry, details.decode()))
        self.known_head = (entry.seq, entry.entry_hash)
        return entry

    def write(self) -> None:
        """Insert the entries that were chained since the last call. Raises what SQLite raises, and
        RowRefused; the unit then fails at its end, even if it catches the error."""
        if self._unwritten:
            unwritten, self._unwritten = self._unwritten, []
            try:
                self.connection.executemany(QUERIES["append_audit"], unwritten)
                if self.is_watched:
                    self._must_stand(unwritten)
            except BaseException as error:
                self.desk.fail(error)
                raise

    def _must_stand(self, written: list[dict[str, Any]]) -> None:
        """Raise RowRefused unless the table holds exactly these entries from the first one on.

        A trigger may drop or replace an entry while SQLite reports success. Without its record an
        action must not happen.
        """
        rows = self._all("audit_written", first_seq=written[0]["seq"])
        if [tuple(row) for row in rows] != [(e["seq"], e["entry_hash"]) for e in written]:
            raise RowRefused(
                "The database does not keep the entries of the audit trail as they are written: "
                "`signoff audit verify` names the trigger that somebody made."
            )

    def back_to(self, head: tuple[int, str] | None) -> None:
        """Set the head back and drop the unwritten entries; `head` None means to ask the table."""
        self.known_head = head
        self._unwritten.clear()

    def head(self) -> tuple[int, str]:
        """Return seq and hash of the last entry; (0, 64 zeros) when empty."""
        if self.known_head is None:
            row = self._one("audit_head")
            self.known_head = (row["seq"], row["entry_hash"]) if row else (0, GENESIS)
        return self.known_head

    def without_attempts(self, proposal_id: str) -> Sequence[AuditEntry]:
        """Return the trail of one proposal without mere attempts, unwritten entries included.

        Only the rows that are wanted become entries: to pass over one costs a microsecond.
        """
        unwritten = (
            row
            for row in self._unwritten
            if row["proposal_id"] == proposal_id and not is_attempt_row(row)
        )
        return [
            *map(entry_of, self._all("audit_without_attempts", proposal_id=proposal_id)),
            *map(entry_of, unwritten),
        ]

    def newest_attempts(self, proposal_id: str, limit: int) -> Sequence[AuditEntry]:
        """Return at most `limit` mere attempts of one proposal, the newest ones, oldest first."""
        self.write()
        rows = self._all("newest_attempts", proposal_id=proposal_id, limit=limit)
        return [*map(entry_of, reversed(rows))]

    def page_of(self, proposal_id: str, after_seq: int, limit: int) -> Sequence[AuditEntry]:
        """Return at most `limit` entries of one proposal after `after_seq`, oldest first."""
        self.write()
        place = {"proposal_id": proposal_id, "after_seq": after_seq, "limit": limit}
        return [*map(entry_of, self._all("audit_page_of", **place))]

    def first_of(self, proposal_id: str) -> int | None:
        """Return the seq of the first entry of one proposal, None if it has none."""
        row = self._one("first_entry_of", proposal_id=proposal_id)
        if row is not None:
            return int(row["seq"])
        unwritten = (row["seq"] for row in self._unwritten if row["proposal_id"] == proposal_id)
        return next(unwritten, None)

    def exported(self, after_seq: int, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return at most `limit` raw entries after `after_seq`, exactly as stored."""
        self.write()
        return [exported_of(row) for row in self._all("exported", after_seq=after_seq, limit=limit)]
