"""What is counted against limits, over SQLite: money that is spent, and uses of tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.ports import RowUnreadable
from lifecycle.records import Money

#: When what is open counts: for as long as it is (query `add_spending`).
_UNTIL_IT_ENDS: Final = 2**63 - 1


class SpendingBook(Book):
    """Amounts of money for the daily limit."""

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        """Note the amounts of a new proposal; the desk settles them when it ends."""
        for money in amounts:
            values = {"actor": actor, "proposal_id": proposal_id}
            amount = {"currency": money.currency, "amount": str(money.amount)}
            self.desk.add_beside("add_spending", values | amount)

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        """Sum by currency, exactly, what is open and what was completed since then."""
        self.desk.write_all_but(but_id)
        return _sums(self._all("spent", actor=actor, since_ms=since_ms, but_id=but_id))

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        """Sum by currency what one proposal counts for."""
        self.desk.write()
        at_ms = _UNTIL_IT_ENDS if ended_at_ms is None else ended_at_ms
        values = {"actor": actor, "proposal_id": proposal_id, "at_ms": at_ms}
        return _sums(self._all("spending_of", **values))


def _sums(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Decimal]:
    """Sum by currency, exactly; raises RowUnreadable for what is no amount."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        try:
            amount = Decimal(row["amount"])
        except (ArithmeticError, TypeError, ValueError):
            amount = Decimal("NaN")
        if not amount.is_finite():
            raise RowUnreadable("An amount that counts for a limit cannot be read.")
        sums[row["currency"]] += amount
    return dict(sums)


class UseBook(Book):
    """Accepted evaluations of the last 24 hours."""

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        """Note one accepted evaluation and forget some old ones."""
        self._do("add_use", {"actor": actor, "tool": tool, "at_ms": at_ms})
        self._do("forget_uses", {"before_ms": at_ms - REMEMBERED_MS})

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        """Return the times strictly after `after_ms`, oldest first."""
        rows = self._all("uses_since", actor=actor, tool=tool, after_ms=after_ms)
        return [row["at_ms"] for row in rows]
