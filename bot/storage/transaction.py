"""Puts all books over one SQLite connection together, as the port Transaction wants them."""

from __future__ import annotations

import sqlite3

from bot.storage.audit_book import AuditBook
from bot.storage.card_books import CardBook, OutboxBook
from bot.storage.decision_books import PermitBook, ReviewBook
from bot.storage.desk import Desk
from bot.storage.fact_books import BacklogBook, FlagBook, RecordedEvidence
from bot.storage.limit_books import SpendingBook, UseBook
from bot.storage.migrations import made_by_others
from bot.storage.proposal_book import ProposalBook
from lifecycle.ports import (
    AuditTrail,
    Backlog,
    Cards,
    EvidenceBook,
    Flags,
    Outbox,
    Permits,
    Proposals,
    Reviews,
    Spending,
    Uses,
)


class SqliteTransaction:
    """The books that a unit or a view is given; the writer begins, commits and undoes.

    It runs on the thread of its connection. The writer has one for its whole life, each view has a
    new one. The writer tells the books what happens: `begin` at the start of a transaction,
    `begin_unit` and `write_down` around each unit, `undo_unit` if the unit failed, `forget` if the
    whole transaction failed. A view needs `write_down` only.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Open all books over `connection`."""
        self._connection = connection
        self._desk = desk = Desk(connection)
        self._head: tuple[int, str] | None = None
        self.proposals: Proposals = ProposalBook(connection, desk)
        self.reviews: Reviews = ReviewBook(connection, desk)
        self._chain = AuditBook(connection, desk)
        self.audit: AuditTrail = self._chain
        self.cards: Cards = CardBook(connection, desk)
        self.outbox: Outbox = OutboxBook(connection, desk)
        self.evidence: EvidenceBook = RecordedEvidence(connection, desk)
        self.spending: Spending = SpendingBook(connection, desk)
        self.uses: Uses = UseBook(connection, desk)
        self.permits: Permits = PermitBook(connection, desk)
        self.backlog: Backlog = BacklogBook(connection, desk)
        self.flags: Flags = FlagBook(connection, desk)

    def begin(self) -> None:
        """Drop caches if another connection, such as a command line's, wrote since the last
        transaction, and look for foreign triggers."""
        if self._desk.look_around():
            self._chain.back_to(None)
            self._chain.is_watched = bool(made_by_others(self._connection))

    def begin_unit(self) -> None:
        """Remember the head of the trail, to which a failed unit is set back."""
        self._head = self._chain.known_head
        self._desk.begin()

    def write_down(self) -> None:
        """Write what this unit has changed so far, so that what fails of it fails within it."""
        self._desk.write()
        self._chain.write()

    def undo_unit(self) -> None:
        """Forget in memory what the unit did; the writer undoes its statements."""
        self._chain.back_to(self._head)
        self._desk.undo()

    def has_covered(self) -> bool:
        """Return True if a row was masked since the last call of this method."""
        covered, self._desk.has_covered = self._desk.has_covered, False
        return covered

    def forget(self) -> None:
        """Forget everything in memory: the whole transaction was undone."""
        self._chain.back_to(None)
        self._desk.forget()
