"""The desk is the row cache of a unit: each row is read once and written once.

A unit may move the same proposal several times. The desk keeps the rows that were read or moved and
writes the last version of each when the unit ends, or when a query about all proposals is asked.
Rows stay cached for later units as long as no other connection has written; a change that somebody
made in the file is therefore seen by the very next unit (ADR 0010).
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from typing import Any, Final

from bot.storage.queries import PRAGMAS, QUERIES, saving
from bot.storage.rows import changes_of, own_copy, proposal_of, row_of
from lifecycle.ports import RowChanged
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.state import State

#: The most rows, messages and flags that are cached, and the largest row among them.
_KEPT_ROWS: Final = 512
_KEPT_MESSAGES: Final = 4_096
_LARGEST_KEPT_BYTES: Final = 32_768
_KEPT_FLAGS: Final = 256
_LARGE_COLUMNS: Final = ("document", "r3_document", "rest", "verdict")


class Desk:
    """Holds the proposals and the wishes for cards of the current unit, over one connection.

    It runs on the thread of that connection: the writer keeps one desk for its whole life, each
    view on a reader's thread has a new one.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Begin with an empty cache."""
        self._connection = connection
        self._kept: OrderedDict[str, Proposal] = OrderedDict()
        #: Changed proposals that are not written yet, each as the table holds it (None: no row).
        self._written: dict[str, Proposal | None] = {}
        self._touched: set[str] = set()
        #: Ids that this unit looked up and did not find.
        self._absent: set[str] = set()
        self._wanted: dict[tuple[str, str], int] = {}
        #: Ended proposals whose amounts must be settled once their spending rows are written.
        self._ended: list[Proposal] = []
        #: Rows of other books, as statements and values, that are written after the proposals.
        self._later: list[tuple[str, dict[str, Any]]] = []
        self._data_version: int | None = None
        self._failed: BaseException | None = None
        #: True once a row was masked, until the writer has told the side file to be emptied.
        self.has_covered = False
        #: Short flags by name, as JSON text (None: never set).
        self.flags: dict[str, str | None] = {}
        #: The reviews that this unit has read, by proposal.
        self.reviews: dict[str, tuple[Review, ...]] = {}
        #: The proposal of each message, by (surface, id), that is known to be in the table.
        self.messages: dict[tuple[str, str], str] = {}

    # -- beginning and end of units --------------------------------------------------------

    def look_around(self) -> bool:
        """Clear the caches if another connection has written, and return whether one has.

        Called at the start of a transaction. It also shrinks caches that grew too large.
        """
        version = self._connection.execute(PRAGMAS["data_version"]).fetchone()[0]
        others_wrote: bool = version != self._data_version
        if others_wrote:
            self._kept.clear()
            self.flags.clear()
            self.messages.clear()
            self._data_version = version
        while len(self._kept) > _KEPT_ROWS:
            self._kept.popitem(last=False)
        if len(self.messages) > _KEPT_MESSAGES:
            self.messages.clear()
        if len(self.flags) > _KEPT_FLAGS:
            self.flags.clear()
        return others_wrote

    def begin(self) -> None:
        """Begin a unit."""
        self._failed = None
        self._touched.clear()
        self._absent.clear()
        self.reviews.clear()

    def undo(self) -> None:
        """Forget what the unit did; the writer undoes its statements."""
        for proposal_id in self._touched:
            self._kept.pop(proposal_id, None)
        self._written.clear()
        self._wanted.clear()
        self._later.clear()
        self._ended.clear()
        self._touched.clear()
        self.flags.clear()
        self.messages.clear()

    def forget(self) -> None:
        """Forget everything, because the whole transaction was undone."""
        self.undo()
        self._kept.clear()

    def write(self) -> None:
        """Write all changes, each row once.

        If it fails, it raises the same error again until the unit ends. Else a unit that catches
        the error and goes on would lose the changes that were on the desk.
        """
        if self._failed is not None:
            raise self._failed
        try:
            self._write()
        except BaseException as error:
            self.fail(error)
            raise

    def fail(self, error: BaseException) -> None:
        """Make the unit fail with this error at its end, even if it catches the error."""
        self._failed = error

    def _write(self) -> None:
        if self._written:
            self._write_proposals()
        if self._later:
            later, self._later = self._later, []
            for query, row in later:
                self._connection.execute(QUERIES[query], row)
        while self._ended:
            self._settle_spending(self._ended.pop())
        if self._wanted:
            wanted, self._wanted = self._wanted, {}
            for (proposal_id, surface), version in wanted.items():
                values = {"proposal_id": proposal_id, "surface": surface, "version": version}
                self._connection.execute(QUERIES["want_card"], values)

    # -- proposals ---------------------------------------------------------------------------

    def find(self, proposal_id: str) -> Proposal | None:
        """Return the proposal as this unit left it, None if there is none."""
        kept = self._kept.get(proposal_id)
        if kept is not None:
            self._kept.move_to_end(proposal_id)
            return kept
        if proposal_id in self._absent:
            return None
        values = {"proposal_id": proposal_id}
        row = self._connection.execute(QUERIES["proposal"], values).fetchone()
        if row is None:
            self._absent.add(proposal_id)
            return None
        return self.of_row(row)

    def of_row(self, row: sqlite3.Row) -> Proposal:
        """Return the proposal of a row just read, the cached object if there is one.

        Both are equal, because pending changes are written before a query is asked.
        """
        kept = self._kept.get(row["proposal_id"])
        if kept is not None:
            return kept
        proposal = proposal_of(row)
        if _is_small(row):
            self._kept[proposal.proposal_id] = proposal
        return proposal

    def add(self, proposal: Proposal) -> None:
        """Note a new proposal. Raises RowChanged if its id is cached; if the id is taken in the
        table alone, the unit fails when the proposal is written."""
        if proposal.proposal_id in self._kept:
            raise RowChanged(f"There already is a proposal {proposal.proposal_id}.")
        self._change(proposal, None)

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Note a move and return True, if (state, version) still are those of `seen`; else False.

        If the proposal is not cached, it is written at once, and the statement itself compares.
        """
        stands = self._kept.get(proposal.proposal_id)
        if stands is None:
            return self._save_unseen(proposal, seen)
        if (stands.state, stands.version) != (seen.state, seen.version):
            return False
        self._change(proposal, stands)
        return True

    def _save_unseen(self, proposal: Proposal, seen: Proposal) -> bool:
        if self._moved(proposal, seen) != 1:
            return False
        self._touched.add(proposal.proposal_id)
        if proposal.terminal:
            self._settle_spending(proposal)
        return True

    def _keep(self, proposal: Proposal) -> None:
        """Cache a proposal that was just written, unless it is large or has ended.

        A copy is cached, because the unit still holds the object and might change its JSON.
        """
        own = None if proposal.terminal else own_copy(proposal, _LARGEST_KEPT_BYTES)
        if own is None:
            self._kept.pop(proposal.proposal_id, None)
        else:
            self._kept[proposal.proposal_id] = own

    def add_beside(self, query: str, row: dict[str, Any]) -> None:
        """Note a row of another book; it is written after the proposal that it names."""
        self._later.append((query, row))

    def is_new(self, proposal_id: str) -> bool:
        """Return True if this unit added the proposal and has not written it yet."""
        return self._written.get(proposal_id, self) is None

    def must_be_written(self, proposal_id: str) -> None:
        """Write a new proposal before a row of another book names it."""
        if self.is_new(proposal_id):
            self.write()

    def _change(self, proposal: Proposal, before: Proposal | None) -> None:
        proposal_id = proposal.proposal_id
        self._absent.discard(proposal_id)
        self._written.setdefault(proposal_id, before)
        self._touched.add(proposal_id)
        self._kept[proposal_id] = proposal

    def _write_proposals(self) -> None:
        written, self._written = self._written, {}
        for proposal_id, before in written.items():
            proposal = self._kept[proposal_id]
            if before is None:
                self.has_covered |= proposal.masked
                self._connection.execute(QUERIES["add_proposal"], row_of(proposal))
            elif self._moved(proposal, before) != 1:
                words = f"The row of {proposal_id} was changed by somebody else. Try again."
                raise RowChanged(words)
            if proposal.terminal:
                self._ended.append(proposal)
            self._keep(proposal)

    def _settle_spending(self, ended: Proposal) -> None:
        """Set the amounts of a completed proposal to count for a day; delete those of any other."""
        values = {"proposal_id": ended.proposal_id, "at_ms": ended.decided_at_ms}
        completed = ended.state is State.COMPLETED
        query = "spending_completed" if completed else "spending_released"
        self._connection.execute(QUERIES[query], values)

    def _moved(self, proposal: Proposal, before: Proposal) -> int:
        self.has_covered |= proposal.masked and not before.masked
        changes = changes_of(proposal, before) | {"version": proposal.version}
        statement = saving(tuple(changes))
        changes["proposal_id"] = proposal.proposal_id
        changes["seen_state"], changes["seen_version"] = str(before.state), before.version
        return self._connection.execute(statement, changes).rowcount

    def write_all_but(self, proposal_id: str) -> None:
        """Write all changes, unless this proposal and its rows are the only ones changed."""
        beside = (row["proposal_id"] for _, row in self._later)
        if {*self._written, *beside} - {proposal_id}:
            self.write()

    # -- cards -----------------------------------------------------------------------------

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        """Note that a surface must show at least `version`."""
        key = (proposal_id, surface)
        self._wanted[key] = max(version, self._wanted.get(key, version))

    def wants(self, proposal_id: str) -> bool:
        """Return True if a wish for a card of this proposal is not written yet."""
        return any(wanted == proposal_id for wanted, _ in self._wanted)


def _is_small(row: sqlite3.Row) -> bool:
    return sum(len(row[name] or ()) for name in _LARGE_COLUMNS) <= _LARGEST_KEPT_BYTES
