"""Keeps the proposals for `database: "memory:"` and asks the queries of `proposal_book` of a
dictionary; it is used on the event loop."""

# ruff: noqa: D102 - the port Proposals says what each method means

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bot.storage.memory_tables import Journal, Table
from bot.storage.rows import proposal_of, row_of
from bot.storage.waits import is_due
from lifecycle.ending import REASON_WAIT_MS
from lifecycle.ports import RowChanged
from lifecycle.proposal import STOPS_CLOSING, Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.windows import closing_place

_REFUSED = ("rejected_by_person", "rolled_back_by_person")
_NEVER_MS = 2**63


def _waits(p: Proposal) -> bool:
    return p.state in (State.PENDING, State.SENTINEL_APPROVED)


def _closes_ms(p: Proposal) -> int:
    closes_at_ms = p.execution.window_closes_at_ms if p.execution else None
    return _NEVER_MS if closes_at_ms is None else closes_at_ms


def _can_close(p: Proposal) -> bool:
    execution = p.execution
    return (
        p.state is State.EXECUTING
        and execution is not None
        and execution.verb is Verb.EXECUTE
        and execution.outcome is Outcome.DONE
        and execution.windowed
        and p.kept_stop is None
        and p.attention not in STOPS_CLOSING
    )


def _remind_ms(p: Proposal) -> int:
    return p.deadline_ms - (p.deadline_ms - p.created_at_ms) // 4


def _copied(p: Proposal) -> Proposal:
    """Return an equal proposal that shares no object with `p`, as a database would."""
    return proposal_of(row_of(p))


def _place(proposal: Proposal) -> tuple[int, str]:
    """Return by what a proposer's own proposals are ordered."""
    return proposal.created_at_ms, proposal.proposal_id


class ProposalTable:
    """Implements the port Proposals."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, Proposal] = Table(journal)
        self._bound: Table[tuple[str, str], str] = Table(journal)

    def must_exist(self, proposal_id: str) -> None:
        """Raise RowChanged if there is no such proposal; for rows of other books that name one."""
        if self._rows.get(proposal_id) is None:
            raise RowChanged(f"There is no proposal {proposal_id}.")

    def get(self, proposal_id: str) -> Proposal | None:
        return self._rows.get(proposal_id)

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        found = (p.proposal_id for p in self._rows if p.proposal_id.startswith(prefix))
        return sorted(found)[:limit]

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        return sorted(p.proposal_id for p in self._rows if p.proposal_id > after_id)[:limit]

    def add(self, proposal: Proposal) -> None:
        if self._rows.get(proposal.proposal_id) is not None:
            raise RowChanged(f"There already is a proposal {proposal.proposal_id}.")
        self._rows.put(proposal.proposal_id, _copied(proposal))

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        stored = self._rows.get(proposal.proposal_id)
        if stored is None or (stored.state, stored.version) != (seen.state, seen.version):
            return False
        self._rows.put(proposal.proposal_id, _copied(proposal))
        return True

    def open_like(self, actor: str, content_digest: str) -> Proposal | None:
        found = self._open_of(actor)
        return next((p for p in found if p.content_digest == content_digest), None)

    def refused_like(
        self, actor: str, likeness_digest: str, content_digest: str, between: tuple[int, int]
    ) -> Proposal | None:
        since_ms, until_ms = between
        refused = [p for p in self._refused(actor, since_ms) if _decided_ms(p) <= until_ms]
        alike = [p for p in refused if p.likeness_digest == likeness_digest]
        same = [p for p in refused if p.content_digest == content_digest]
        return max(alike or same, key=_decided_ms, default=None)

    def refused_tool_lately(self, actor: str, tool: str, since_ms: int) -> bool:
        return any(p.tool == tool for p in self._refused(actor, since_ms))

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
        return [
            p
            for p in self._own_behind(actor, before)
            if state in (None, p.state) and tool in (None, p.tool)
            if until is None or _place(p) >= until
        ][:limit]

    def own_behind(
        self, actor: str, before: tuple[int, str] | None, count: int
    ) -> tuple[int, str] | None:
        found = self._own_behind(actor, before)
        return _place(found[count - 1]) if len(found) >= count else None

    def _own_behind(self, actor: str, before: tuple[int, str] | None) -> list[Proposal]:
        """Return a proposer's proposals after `before`, newest first."""
        first = before or (_NEVER_MS, "")
        found = self._where(lambda p: p.actor.id == actor and _place(p) < first, _place)
        return found[::-1]

    def with_r3(self, r3_s256: str) -> Proposal | None:
        return next((p for p in self._rows if p.r3_s256 == r3_s256), None)

    def count_open(self, actor: str) -> int:
        return len(self._open_of(actor))

    def waiting(self, offset: int, limit: int) -> Sequence[Proposal]:
        found = self._where(_waits, lambda p: (p.attention is None, p.deadline_ms, p.proposal_id))
        return found[offset : offset + limit]

    def count_waiting(self) -> int:
        return sum(map(_waits, self._rows))

    def executing(self, offset: int, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: p.state is State.EXECUTING,
            lambda p: (p.attention is None, _closes_ms(p), p.proposal_id),
        )
        return found[offset : offset + limit]

    def count_executing(self) -> int:
        return sum(p.state is State.EXECUTING for p in self._rows)

    def due_to_close(
        self, now_ms: int, limit: int, after: Proposal | None = None
    ) -> Sequence[Proposal]:
        found = self._where(
            lambda p: _can_close(p) and closing_place(p)[0] <= now_ms,
            lambda p: closing_place(p),
        )
        if after is not None:
            found = [p for p in found if closing_place(p) > closing_place(after)]
        return found[:limit]

    def next_close_ms(self) -> int | None:
        return min((closing_place(p)[0] for p in self._rows if _can_close(p)), default=None)

    def due_to_expire(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: _waits(p) and p.deadline_ms <= now_ms,
            lambda p: (p.deadline_ms, p.proposal_id),
        )
        return found[:limit]

    def ready_to_open(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        found = self._where(
            lambda p: (
                p.state is State.SENTINEL_APPROVED
                and p.opener is not None
                and not p.permit_waits
                and p.proposal_id > after_id
            )
        )
        return found[:limit]

    def unchecked(self, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: p.state is State.PENDING and p.verdict is None,
            lambda p: (p.created_at_ms, p.proposal_id),
        )
        return found[:limit]

    def in_flight(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        found = self._where(
            lambda p: (
                p.state is State.EXECUTING
                and p.execution is not None
                and p.execution.outcome is Outcome.RUNNING
                and p.proposal_id > after_id
            )
        )
        return found[:limit]

    def checked_under_other(self, policy_digest: str, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: p.state.open and p.checked_policy_digest not in (None, policy_digest),
            lambda p: (p.checked_policy_digest, p.proposal_id),
        )
        return found[:limit]

    def reasons_due(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: (
                p.terminal
                and p.reason_due_ms is not None
                and is_due(p.reason_due_ms, now_ms, REASON_WAIT_MS)
            ),
            lambda p: (p.reason_due_ms, p.proposal_id),
        )
        return found[:limit]

    def to_remind(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: (
                p.state is State.SENTINEL_APPROVED
                and p.opener is None
                and p.reminded_at_ms is None
                and _remind_ms(p) <= now_ms < p.deadline_ms
            ),
            lambda p: (_remind_ms(p), p.proposal_id),
        )
        return found[:limit]

    def with_attention(self, limit: int) -> Sequence[Proposal]:
        found = self._where(
            lambda p: p.attention is not None, lambda p: (p.created_at_ms, p.proposal_id)
        )
        return found[:limit]

    def bind_evidence(self, proposal_id: str, evidence_ids: Iterable[str]) -> None:
        self.must_exist(proposal_id)
        for evidence_id in evidence_ids:
            self._bound.put((evidence_id, proposal_id), proposal_id)

    def is_bound(self, proposal_id: str, evidence_id: str) -> bool:
        return self._bound.get((evidence_id, proposal_id)) is not None

    def bound_to(self, evidence_id: str, limit: int) -> Sequence[Proposal]:
        ids = {
            proposal_id for (bound, proposal_id), _ in self._bound.items() if bound == evidence_id
        }
        return self._where(lambda p: p.proposal_id in ids and p.state.open)[:limit]

    def _where(
        self,
        condition: Callable[[Proposal], bool],
        order: Callable[[Proposal], Any] = lambda p: p.proposal_id,
    ) -> list[Proposal]:
        return sorted(filter(condition, self._rows), key=order)

    def _open_of(self, actor: str) -> list[Proposal]:
        return self._where(lambda p: p.state.open and p.actor.id == actor)

    def _refused(self, actor: str, since_ms: int) -> list[Proposal]:
        return self._where(
            lambda p: (
                p.actor.id == actor
                and p.reason in _REFUSED
                and p.decided_at_ms is not None
                and p.decided_at_ms >= since_ms
            )
        )


def _decided_ms(proposal: Proposal) -> int:
    return proposal.decided_at_ms or 0
