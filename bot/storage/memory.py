"""This module holds the store in the memory of the process, for trying out (`database: "memory:"`).

It implements the same ports as the store over SQLite, and everything in it is gone when the process
ends. Units and views run on the event loop.
"""

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
from bot.storage.remedies import said
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
    StoreUnavailable,
    Transaction,
    Uses,
)

T = TypeVar("T")


class MemoryTransaction:
    """Implements the port Transaction: all books over dictionaries that one journal can undo.

    There is one for the life of the store, used on the event loop only.
    """

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
        """Do nothing: what a unit changes is in the tables at once."""


class MemoryStore:
    """Implements the port ProposalStore on the event loop: a unit runs whole, within one step."""

    def __init__(self) -> None:
        """Begin empty."""
        self._journal = Journal()
        self._transaction = MemoryTransaction(self._journal)
        self._closed = False

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` and return its value; if it raises, undo it and raise that here.

        Raises StoreUnavailable if there is no memory for it.
        """
        # Give other tasks a turn here, as the wait for the writer's thread would, and only here.
        await asyncio.sleep(0)
        self._check_open()
        try:
            value = unit(self._transaction)
        except MemoryError as error:
            self._journal.undo()
            raise StoreUnavailable(f"The store could not take this: {said(error)}.") from error
        except BaseException:
            self._journal.undo()
            raise
        self._journal.keep()
        return value

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on the present rows and return its value; raises StoreUnavailable if it tries
        to write, or there is no memory for it."""
        await asyncio.sleep(0)
        self._check_open()
        self._journal.reading = True
        try:
            return view(self._transaction)
        except MemoryError as error:
            raise StoreUnavailable(f"The store cannot be read: {said(error)}.") from error
        finally:
            self._journal.reading = False

    async def close(self) -> None:
        """Run no further unit or view: from now on they raise StoreClosed."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("The store is closed.")
