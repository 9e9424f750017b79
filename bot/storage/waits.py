"""When what waits in the store is due: at its time, or where that is further off than any wait is.

Such a time was written by a clock that has been set back since; what waits for it would stay
untold, or unshown, until that time comes again.
"""

from __future__ import annotations

from typing import Final

from lifecycle.records import LONGEST_WAIT_MS

#: So often something failed that people were told of it; queries say the same number.
_OFTEN: Final = 5


def is_due(at_ms: int, now_ms: int, longest_ms: int = LONGEST_WAIT_MS) -> bool:
    """Say whether what was to wait until `at_ms` waits no longer; ms UTC."""
    return not now_ms < at_ms <= now_ms + longest_ms


def due_by(now_ms: int, longest_ms: int = LONGEST_WAIT_MS) -> dict[str, int]:
    """Return the same for a query: due is what is not later than `now_ms`, or than `far_ms` is."""
    return {"now_ms": now_ms, "far_ms": now_ms + longest_ms}


def turn_ms(attempts: int, at_ms: int) -> int:
    """Return what orders those that are due: 0 for all that did not fail often, which go first, and
    for the others since when each is due."""
    return 0 if attempts < _OFTEN else at_ms
