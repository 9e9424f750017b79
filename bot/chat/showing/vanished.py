"""Messages that were deleted or emptied: one may be a card of which no row says so yet.

Whoever deletes a card the moment it stands is heard before our own books are written. Nobody would
look for it for minutes, and meanwhile nobody could decide; one that shows nothing would count as
shown.
"""

from __future__ import annotations

from typing import Final

#: So many are remembered: a card is written down soon after it stands, or was looked for.
_MOST: Final = 2_000


class Vanished:
    """Remembers the messages of one surface that went lately; in memory, for all open cards are
    read after a start."""

    def __init__(self) -> None:
        """Nothing went so far."""
        self._ids: dict[str, None] = {}

    def note(self, message_id: str) -> None:
        """This message went; to be noted before it is looked which card stands there."""
        self._ids.pop(message_id, None)
        self._ids[message_id] = None
        while len(self._ids) > _MOST:
            self._ids.pop(next(iter(self._ids)))

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._ids
