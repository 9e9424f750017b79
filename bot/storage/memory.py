"""A store in the memory of the process, for trying out: the same law, gone at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from bot.storage.memory_audit import AuditTable
from bot.storage.memory_cards import CardTable, OutboxTable
from bot.storage.memory_decisions import PermitTable, ReviewTable
from bot.storage.memory_facts import BacklogTable, EvidenceTable, FlagTable
from bot.storage.memory_limits import SpendingTable, UseTable
from bot.storage.memory_proposals import ProposalTable
from bot.storage.memory_tables import Journal
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
    StoreClosed,
    Transaction,
    Uses,
)

T = TypeVar("T")


class MemoryTransaction:
    """All books over dictionaries that one journal undoes."""

    def __init__(self, journal: Journal) -> None:
        """Open empty books."""
        proposals = ProposalTable(journal)
        self.proposals: Proposals = proposals
        self.reviews: Reviews = ReviewTable(journal, proposals.must_exist)
        self.audit: AuditTrail = AuditTable(journal)
        self.cards: Cards = CardTable(journal, proposals)
        self.outbox: Outbox = OutboxTable(journal)
        self.evidence: EvidenceBook = EvidenceTable(journal)
        self.spending: Spending = SpendingTable(journal, proposals)
        self.uses: Uses = UseTable(journal)
        self.permits: Permits = PermitTable(journal, proposals.must_exist)
        self.backlog: Backlog = BacklogTable(journal)
        self.flags: Flags = FlagTable(journal)

    def write_down(self) -> None:
        """Do nothing: what a unit changes stands in the tables at once."""


class MemoryStore:
    """Implements the port ProposalStore. A unit runs between two looks of the event loop."""

    def __init__(self) -> None:
        """Begin empty."""
        self._journal = Journal()
        self._transaction = MemoryTransaction(self._journal)
        self._closed = False

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit`; what it raises undoes it and is raised here."""
        # Others come in between here as they do where a thread answers, and never later.
        await asyncio.sleep(0)
        self._check_open()
        try:
            value = unit(self._transaction)
        except BaseException:
            self._journal.undo()
            raise
        self._journal.keep()
        return value

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on what is there now; StoreUnavailable where it tries to write."""
        await asyncio.sleep(0)
        self._check_open()
        self._journal.reading = True
        try:
            return view(self._transaction)
        finally:
            self._journal.reading = False

    async def close(self) -> None:
        """Take no more."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("The store is closed.")
