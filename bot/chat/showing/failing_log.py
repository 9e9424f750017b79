"""Logs each reason for failing cards once as a warning, and repetitions only at level INFO (`-v`).

A platform that is away fails every card, and one line of the log is enough for that.
"""

from __future__ import annotations

import logging
from typing import Final

log = logging.getLogger("signoff.delivery")

#: So many reasons are remembered at most: some differ each time, and the set must not grow.
_MOST: Final = 50


class FailingLog:
    """Remembers which reasons were logged since something was last delivered."""

    def __init__(self) -> None:
        """Begin with no reason logged."""
        self._told: set[str] = set()

    def failed(self, surface: str, proposal_id: str, why: str) -> None:
        """Log a failing card as a warning, or as INFO if the reason was logged already."""
        level = logging.INFO if why in self._told else logging.WARNING
        if len(self._told) >= _MOST:
            self._told.clear()
        self._told.add(why)
        log.log(level, "%s: the card of %s: %s", surface, proposal_id, why)

    def well(self) -> None:
        """Forget the reasons, for something was delivered: whatever fails from here on is news."""
        self._told.clear()
