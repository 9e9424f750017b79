"""Logs each row that cannot be read once in this process: some are read every second."""

from __future__ import annotations

import logging
from typing import Final

log: Final = logging.getLogger("signoff.storage")

#: What was logged. The threads of all connections share it.
TOLD: Final[set[str]] = set()
#: Of more rows than these the rest is not named: it would fill the log, or memory.
MOST_TOLD: Final = 1_000


def tell_once(words: str) -> None:
    """Log these words about a row, unless that was done."""
    if words not in TOLD and len(TOLD) < MOST_TOLD:
        TOLD.add(words)
        log.error("%s", words)
