"""All books over one connection."""

from __future__ import annotations

import sqlite3

from bot.storage.audit_book import AuditBook
from bot.storage.books import (
    BacklogBook,
    CardBook,
    FlagBook,
    OutboxBook,
    PermitBook,
    RecordedEvidence,
    ReviewBook,
    SpendingBook,
    UseBook,
)
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
    """What a unit is given; where it begins and ends is the writer's affair."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Open all books over `connection`."""
        self.proposals: Proposals = ProposalBook(connection)
        self.reviews: Reviews = ReviewBook(connection)
        self.chain = AuditBook(connection)
        self.audit: AuditTrail = self.chain
        self.cards: Cards = CardBook(connection)
        self.outbox: Outbox = OutboxBook(connection)
        self.evidence: EvidenceBook = RecordedEvidence(connection)
        self.spending: Spending = SpendingBook(connection)
        self.uses: Uses = UseBook(connection)
        self.permits: Permits = PermitBook(connection)
        self.backlog: Backlog = BacklogBook(connection)
        self.flags: Flags = FlagBook(connection)
