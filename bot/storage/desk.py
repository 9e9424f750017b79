"""What a unit has at hand: rows are read once and written once, whatever it does in between.

A unit moves the same proposal several times. The desk keeps what was read or moved and writes the
last version of it when the unit ends, or when somebody asks a question about all proposals. Rows
stay at hand for later units as long as no other connection has written, so that what somebody
changed in the file is seen by the very next unit (ADR 0010).
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

#: So many rows stay at hand, none of them larger than this; so many messages and flags.
_KEPT_ROWS: Final = 512
_KEPT_MESSAGES: Final = 4_096
_LARGEST_KEPT_BYTES: Final = 32_768
_KEPT_FLAGS: Final = 256
_LARGE_COLUMNS: Final = ("document", "r3_document", "rest", "verdict")


class Desk:
    """The proposals and wishes for cards of the unit under way, over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Begin with nothing at hand."""
        self._connection = connection
        self._kept: OrderedDict[str, Proposal] = OrderedDict()
        #: As the table holds them (None: not at all), where that is not what is kept.
        self._written: dict[str, Proposal | None] = {}
        self._touched: set[str] = set()
        #: Ids that this unit has asked for in vain.
        self._absent: set[str] = set()
        self._wanted: dict[tuple[str, str], int] = {}
        #: What has ended and holds no money any more, once the rows beside it are written.
        self._ended: list[Proposal] = []
        #: Rows of other books that name a new proposal: statements and their values.
        self._later: list[tuple[str, dict[str, Any]]] = []
        self._data_version: int | None = None
        self._failed: BaseException | None = None
        #: True once a row was masked, until somebody has taken care of what it held before.
        self.has_covered = False
        #: The flags by name, as text.
        self.flags: dict[str, str | None] = {}
        #: The reviews by proposal that this unit has read and not changed since.
        self.reviews: dict[str, tuple[Review, ...]] = {}
        #: Messages by (surface, id) that are known to stand in the table, and for which proposal.
        self.messages: dict[tuple[str, str], str] = {}

    # -- where units begin and end ---------------------------------------------------------

    def look_around(self) -> bool:
        """Forget everything where another connection has written, and say whether one has; at the
        start of a transaction."""
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
        """Forget what the unit did; its statements are undone by whoever began it."""
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
        """Forget everything: the transaction was undone."""
        self.undo()
        self._kept.clear()

    def write(self) -> None:
        """Write what was changed, each row once.

        A unit that went on after this had failed would lose what was on the desk: it fails again,
        until the unit has ended.
        """
        if self._failed is not None:
            raise self._failed
        try:
            self._write()
        except BaseException as error:
            self.fail(error)
            raise

    def fail(self, error: BaseException) -> None:
        """Let the unit fail at its end, whatever it does about this error."""
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
        """Return the proposal as it stands in this unit."""
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
        """Return the proposal of a row just read; what is at hand already is the same."""
        kept = self._kept.get(row["proposal_id"])
        if kept is not None:
            return kept
        proposal = proposal_of(row)
        if _is_small(row):
            self._kept[proposal.proposal_id] = proposal
        return proposal

    def add(self, proposal: Proposal) -> None:
        """Note a new proposal; where its id is taken the unit fails when it is written."""
        if proposal.proposal_id in self._kept:
            raise RowChanged(f"There already is a proposal {proposal.proposal_id}.")
        self._change(proposal, None)

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Note a move where (state, version) still are those of `seen`.

        What is not at hand is written straight away: the statement itself compares.
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
        """Keep what was just written, unless it is large or has ended; in no case another's own.

        What somebody else holds, and may change, is kept as it was written.
        """
        own = None if proposal.terminal else own_copy(proposal, _LARGEST_KEPT_BYTES)
        if own is None:
            self._kept.pop(proposal.proposal_id, None)
        else:
            self._kept[proposal.proposal_id] = own

    def add_beside(self, query: str, row: dict[str, Any]) -> None:
        """Note a row that names a proposal: it is written behind that one."""
        self._later.append((query, row))

    def is_new(self, proposal_id: str) -> bool:
        """Say whether this unit added the proposal and no table knows of it yet."""
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
        """Let what it held count for a day where it was completed, and no more where it was not."""
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
        """Write what was changed, unless that is nothing but this proposal."""
        beside = (row["proposal_id"] for _, row in self._later)
        if {*self._written, *beside} - {proposal_id}:
            self.write()

    # -- cards -----------------------------------------------------------------------------

    def want(self, proposal_id: str, surface: str, version: int) -> None:
        """Note that a surface must show at least `version`."""
        key = (proposal_id, surface)
        self._wanted[key] = max(version, self._wanted.get(key, version))

    def wants(self, proposal_id: str) -> bool:
        """Say whether a card of this proposal is wanted, and that not yet written."""
        return any(wanted == proposal_id for wanted, _ in self._wanted)


def _is_small(row: sqlite3.Row) -> bool:
    return sum(len(row[name] or ()) for name in _LARGE_COLUMNS) <= _LARGEST_KEPT_BYTES
