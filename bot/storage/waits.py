"""Says when a card, a message or a reason that waits in the store is due.

It is due at its time, and also if that time is further off than any wait is. Such a time was
written by a clock that has been set back since, and the card or message would wait until it comes
again.
"""

from __future__ import annotations

from typing import Final

from lifecycle.records import LONGEST_WAIT_MS

#: After so many failures people were told of it, and it stands behind the rest. The queries in
#: `queries.sql`, and two indices, repeat this number.
_OFTEN: Final = 5


def is_due(at_ms: int, now_ms: int, longest_ms: int = LONGEST_WAIT_MS) -> bool:
    """Return True if what waits until `at_ms` is due at `now_ms`; both are ms UTC."""
    return not now_ms < at_ms <= now_ms + longest_ms


def due_by(now_ms: int, longest_ms: int = LONGEST_WAIT_MS) -> dict[str, int]:
    """Return the values by which a query does the same: a row is due if its time is not later than
    `now_ms`, or if it is later than `far_ms`."""
    return {"now_ms": now_ms, "far_ms": now_ms + longest_ms}


def turn_ms(attempts: int, at_ms: int) -> int:
    """Return the key that orders due cards or messages: 0 for those that did not fail often, which
    go first, and the time since when it is due for each of the others."""
    return 0 if attempts < _OFTEN else at_ms
