"""A platform that is away fails every card: the log has each reason once, the others with -v."""

from __future__ import annotations

import logging
from typing import Final

log = logging.getLogger("signoff.delivery")

#: Of reasons that differ each time none is kept for good.
_MOST: Final = 50


class FailingLog:
    """Keeps the reasons that were told since something went well."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self._told: set[str] = set()

    def failed(self, surface: str, proposal_id: str, why: str) -> None:
        """Warn of a card that failed, unless others did for the same reason just now."""
        level = logging.INFO if why in self._told else logging.WARNING
        if len(self._told) >= _MOST:
            self._told.clear()
        self._told.add(why)
        log.log(level, "%s: the card of %s: %s", surface, proposal_id, why)

    def well(self) -> None:
        """Something was delivered: whatever fails from here on is news."""
        self._told.clear()
