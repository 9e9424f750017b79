"""Keeps the proposals over SQLite and answers the queries that the running bot asks about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.told_once import tell_once
from bot.storage.waits import due_by
from lifecycle.ending import REASON_WAIT_MS
from lifecycle.ports import RowUnreadable
from lifecycle.proposal import Proposal
from lifecycle.state import State
from lifecycle.windows import closing_place

_BEFORE_ALL_MS: Final = -(2**63)
#: Places (created_at_ms, id) before and behind all proposals, where the newest comes first.
_NEWEST: Final = (2**63 - 1, "")
_OLDEST: Final = (_BEFORE_ALL_MS, "")
_OPEN: Final = frozenset(state.value for state in State if not state.terminal)


class ProposalBook(Book):
    """The port Proposals: one row for each proposal.

    It runs on the thread of its connection, as every book does. Single proposals come from the
    desk; every query about several writes the desk first (`_all`, `_one`).
    """

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal with exactly this id, None if there is none."""
        return self.desk.find(proposal_id) if _is_text(proposal_id) else None

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids that begin with `prefix`."""
        if not _is_text(prefix):
            return []
        rows = self._all("beginning_with", prefix=prefix, limit=limit)
        return [row["proposal_id"] for row in rows]

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids after `after_id`, in order; more as `_ids` says."""
        return self._ids("ids_after", after_id, limit)

    def add(self, proposal: Proposal) -> None:
        """Insert a new proposal; its id must be free."""
        self.desk.add(proposal)

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Write `proposal` and return True if (state, version) still are those of `seen`."""
        return self.desk.save(proposal, seen)

    def open_like(self, actor: str, content_digest: str) -> Proposal | None:
        """Return this proposer's open proposal with this content, None if there is none."""
        return self._first("open_like", actor=actor, content_digest=content_digest)

    def refused_like(
        self, actor: str, likeness_digest: str, content_digest: str, between: tuple[int, int]
    ) -> Proposal | None:
        """Return the latest proposal of this likeness, else of this very content, that a person
        rejected or rolled back between the two times (ms UTC); None if there is none."""
        whose = {"actor": actor, "since_ms": between[0], "until_ms": between[1]}
        alike = self._first("refused_like", likeness_digest=likeness_digest, **whose)
        return alike or self._first("refused_same", content_digest=content_digest, **whose)

    def refused_tool_lately(self, actor: str, tool: str, since_ms: int) -> bool:
        """Return True if a person rejected or rolled back this proposer's use of this tool since
        `since_ms`."""
        row = self._one("refused_tool_lately", actor=actor, tool=tool, since_ms=since_ms)
        return row is not None

    def own_of(
        self,
        actor: str,
        before: tuple[int, str] | None,
        limit: int,
        *,
        state: str | None = None,
        tool: str | None = None,
        until: tuple[int, str] | None = None,
    ) -> Sequence[Proposal]:
        """Return a proposer's proposals, newest first, older than (created_at_ms, id) `before`;
        none that is older than `until`."""
        values: dict[str, Any] = {"actor": actor, "limit": limit, "state": state, "tool": tool}
        values["before_ms"], values["before_id"] = before or _NEWEST
        values["until_ms"], values["until_id"] = until or _OLDEST
        return self._many("own_open_of" if state in _OPEN else "own_of", **values)

    def own_behind(
        self, actor: str, before: tuple[int, str] | None, count: int
    ) -> tuple[int, str] | None:
        """Return the place of a proposer's `count`-th proposal after `before`, newest first; None
        if there are fewer."""
        before_ms, before_id = before or _NEWEST
        values = {"actor": actor, "before_ms": before_ms, "before_id": before_id, "count": count}
        row = self._one("own_behind", **values)
        return (row["created_at_ms"], row["proposal_id"]) if row else None

    def with_r3(self, r3_s256: str) -> Proposal | None:
        """Return the proposal whose R3 document has this hash, None if there is none."""
        return self._first("with_r3", r3_s256=r3_s256)

    def count_open(self, actor: str) -> int:
        """Count the proposer's proposals that are not terminal."""
        return int(self._one("count_open", actor=actor)[0])

    def waiting(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved proposals: attention first, then by deadline."""
        return self._many("waiting", offset=offset, limit=limit)

    def count_waiting(self) -> int:
        """Count pending and sentinel_approved proposals."""
        return int(self._one("count_waiting")[0])

    def executing(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return executing proposals: attention first, then by the end of the window."""
        return self._many("executing", offset=offset, limit=limit)

    def count_executing(self) -> int:
        """Count executing proposals."""
        return int(self._one("count_executing")[0])

    def due_to_close(
        self, now_ms: int, limit: int, after: Proposal | None = None
    ) -> Sequence[Proposal]:
        """Return executing, done proposals whose window is due and that nothing holds back.

        They come in the order in which they are due, beginning after `after`.
        """
        after_ms, after_id = closing_place(after) if after else (_BEFORE_ALL_MS, "")
        return self._many(
            "due_to_close", now_ms=now_ms, limit=limit, after_ms=after_ms, after_id=after_id
        )

    def next_close_ms(self) -> int | None:
        """Return when the next window can be closed (ms UTC), None if none can."""
        row = self._one("next_close")
        return int(row[0]) if row else None

    def due_to_expire(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved proposals whose deadline has passed."""
        return self._many("due_to_expire", now_ms=now_ms, limit=limit)

    def ready_to_open(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return sentinel_approved proposals with an opener and no waiting permit, by id."""
        return self._many("ready_to_open", limit=limit, after_id=after_id)

    def unchecked(self, limit: int) -> Sequence[Proposal]:
        """Return pending proposals without a verdict, oldest first."""
        return self._many("unchecked", limit=limit)

    def in_flight(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return executing proposals whose last call is running, by id."""
        return self._many("in_flight", limit=limit, after_id=after_id)

    def checked_under_other(self, policy_digest: str, limit: int) -> Sequence[Proposal]:
        """Return up to `limit` open proposals that were last checked under another policy."""
        return self._many("checked_under_other", policy_digest=policy_digest, limit=limit)

    def reasons_due(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return terminal proposals whose wait for a reason by reply has passed."""
        return self._many("reasons_due", **due_by(now_ms, REASON_WAIT_MS), limit=limit)

    def to_remind(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return proposals that wait for people past three quarters of their time, unreminded."""
        return self._many("to_remind", now_ms=now_ms, limit=limit)

    def with_attention(self, limit: int) -> Sequence[Proposal]:
        """Return the proposals that a person must look at, terminal ones included."""
        return self._many("with_attention", limit=limit)

    def bind_evidence(self, proposal_id: str, evidence_ids: Iterable[str]) -> None:
        """Record which evidence a new proposal names; written after the proposal itself."""
        for evidence_id in evidence_ids:
            values = {"proposal_id": proposal_id, "evidence_id": evidence_id}
            self.desk.add_beside("bind_evidence", values)

    def is_bound(self, proposal_id: str, evidence_id: str) -> bool:
        """Return True if it is recorded that the proposal names this evidence."""
        values = {"proposal_id": proposal_id, "evidence_id": evidence_id}
        return self._one("is_bound", **values) is not None

    def bound_to(self, evidence_id: str, limit: int) -> Sequence[Proposal]:
        """Return open proposals that name this evidence."""
        return self._many("bound_to", evidence_id=evidence_id, limit=limit)

    def _all(self, query: str, **values: Any) -> list[Any]:
        """Write the desk, then ask: the query must see what this unit has changed."""
        self.desk.write()
        return super()._all(query, **values)

    def _one(self, query: str, **values: Any) -> Any:
        self.desk.write()
        return super()._one(query, **values)

    def _first(self, query: str, **values: Any) -> Proposal | None:
        """Return the proposal whose id the query finds, None if it finds none.

        The query selects the id alone: mostly it finds none, and forty columns cost more.
        """
        row = self._one(query, **values)
        return self.desk.find(row["proposal_id"]) if row else None

    def _many(self, query: str, **values: Any) -> list[Proposal]:
        """Return the proposals that a query finds; skip rows that cannot be read.

        A skipped row does not use up the limit: more rows are asked for until as many as were
        wanted can be read. A page by offset stays short, because the next page would else show the
        same proposals again.
        """
        wanted = values["limit"]
        while True:
            rows = self._all(query, **values)
            found = self._readable(rows)
            all_there = len(found) >= wanted or len(rows) < values["limit"]
            if all_there or "offset" in values:
                return found[:wanted]
            values["limit"] *= 2

    def _readable(self, rows: Iterable[Any]) -> list[Proposal]:
        found = []
        for row in rows:
            try:
                found.append(self.desk.of_row(row))
            except RowUnreadable as unreadable:
                words = "It stands still; look at it with: signoff audit verify"
                tell_once(f"{unreadable} {words}")
        return found


def _is_text(given: str) -> bool:
    """Return False for what cannot be written as UTF-8: half a surrogate pair, or bytes that a
    shell passed on. SQLite would refuse to be asked for it, and no proposal is called so."""
    try:
        str(given).encode()  # an id that somebody wrote into the database may be a BLOB
    except UnicodeEncodeError:
        return False
    return True
