"""Keeps spending and uses of tools for `database: "memory:"`; both are used on the event loop."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from bot.storage.memory_proposals import ProposalTable
from bot.storage.memory_tables import Journal, Table
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.records import Money
from lifecycle.state import State


class SpendingTable:
    """Implements the port Spending."""

    def __init__(self, journal: Journal, proposals: ProposalTable) -> None:
        """Begin empty."""
        self._rows: Table[int, tuple[str, str, Money]] = Table(journal)
        self._proposals = proposals

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        for money in amounts:
            self._proposals.must_exist(proposal_id)
            self._rows.put(len(self._rows), (actor, proposal_id, money))

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        sums: defaultdict[str, Decimal] = defaultdict(Decimal)
        came_after = False
        for spender, proposal_id, money in self._rows:
            came_after |= proposal_id == but_id
            if spender != actor or proposal_id == but_id or not self._holds(proposal_id, since_ms):
                continue
            if not (came_after and self._is_unjudged(proposal_id)):
                sums[money.currency] += money.amount
        return dict(sums)

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        proposal = self._proposals.get(proposal_id)
        sums: defaultdict[str, Decimal] = defaultdict(Decimal)
        if (
            proposal is None
            or proposal.decided_at_ms != ended_at_ms
            or not self._holds(proposal_id, 0)
        ):
            return {}
        for spender, of_id, money in self._rows:
            if (spender, of_id) == (actor, proposal_id):
                sums[money.currency] += money.amount
        return dict(sums)

    def _is_unjudged(self, proposal_id: str) -> bool:
        proposal = self._proposals.get(proposal_id)
        return proposal is not None and proposal.state is State.PENDING

    def _holds(self, proposal_id: str, since_ms: int) -> bool:
        proposal = self._proposals.get(proposal_id)
        if proposal is None or proposal.state is not State.COMPLETED:
            return proposal is not None and not proposal.terminal
        return (proposal.decided_at_ms or 0) >= since_ms


class UseTable:
    """Implements the port Uses."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[tuple[str, str], tuple[int, ...]] = Table(journal)

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        kept = self.since(actor, tool, at_ms - REMEMBERED_MS - 1)
        self._rows.put((actor, tool), (*kept, at_ms))

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        times = self._rows.get((actor, tool)) or ()
        return sorted(at_ms for at_ms in times if at_ms > after_ms)
