"""Keeps over SQLite what counts against limits: money spent, and uses of tools.

Both books run on the thread of their connection, as every book does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.moment import is_moment
from lifecycle.records import ANY_CURRENCY, Money

#: The `at_ms` of amounts of an open proposal: they count until it ends (query `add_spending`).
_UNTIL_IT_ENDS: Final = 2**63 - 1
_INFINITE: Final = Decimal("Infinity")
#: No amount of a document has more digits.
_LONGEST: Final = 4_000


class SpendingBook(Book):
    """The port Spending: amounts of money for the daily limit."""

    def add(self, actor: str, proposal_id: str, amounts: Iterable[Money]) -> None:
        """Note the amounts of a new proposal; the desk settles them when it ends."""
        for money in amounts:
            values = {"actor": actor, "proposal_id": proposal_id}
            amount = {"currency": money.currency, "amount": str(money.amount)}
            self.desk.add_beside("add_spending", values | amount)

    def spent(self, actor: str, since_ms: int, but_id: str) -> Mapping[str, Decimal]:
        """Return the exact sums by currency of the proposer's open proposals and of those completed
        since `since_ms`; the proposal `but_id`, and what came after it and is not judged yet, are
        left out."""
        self.desk.write_all_but(but_id)
        return _sums(self._all("spent", actor=actor, since_ms=since_ms, but_id=but_id))

    def held(self, actor: str, proposal_id: str, ended_at_ms: int | None) -> Mapping[str, Decimal]:
        """Return the sums by currency that one proposal counts for; `ended_at_ms` is None while it
        is open."""
        self.desk.write()
        at_ms = _UNTIL_IT_ENDS if ended_at_ms is None else ended_at_ms
        values = {"actor": actor, "proposal_id": proposal_id, "at_ms": at_ms}
        return _sums(self._all("spending_of", **values))


def _sums(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Decimal]:
    """Return the exact sums by currency; infinite where an amount is none that anybody can spend.

    Nothing more of that currency is within a limit then, and everything else goes on. What names no
    currency that can be read is of `ANY_CURRENCY`.
    """
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        named = isinstance(row["currency"], str)
        currency = row["currency"] if named else ANY_CURRENCY
        sums[currency] += _amount_or_infinite(row["amount"]) if named else _INFINITE
    return dict(sums)


def _amount_or_infinite(text: Any) -> Decimal:
    try:
        amount = Decimal(text) if isinstance(text, str) and len(text) <= _LONGEST else _INFINITE
    except ArithmeticError:
        return _INFINITE
    within = amount.is_finite() and amount >= 0 and amount.adjusted() < _LONGEST
    return amount if within else _INFINITE


class UseBook(Book):
    """The port Uses: accepted evaluations of the last 24 hours, for the rate of a tool."""

    def add(self, actor: str, tool: str, at_ms: int) -> None:
        """Note one accepted evaluation and delete a few that are too old to count."""
        self._do("add_use", {"actor": actor, "tool": tool, "at_ms": at_ms})
        self._do("forget_uses", {"before_ms": at_ms - REMEMBERED_MS})

    def since(self, actor: str, tool: str, after_ms: int) -> Sequence[int]:
        """Return the times strictly after `after_ms`, oldest first. What somebody wrote in place of
        a time counts as the oldest, so that it lets nobody do more."""
        rows = self._all("uses_since", actor=actor, tool=tool, after_ms=after_ms)
        return sorted(
            row["at_ms"] if is_moment(row["at_ms"]) else max(0, after_ms + 1) for row in rows
        )
