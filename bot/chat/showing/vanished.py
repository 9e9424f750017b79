"""Remembers messages that were deleted or emptied: one may be a card that has no row yet.

If somebody deletes a card the moment it stands, that is heard before our own row says where it
stands. Without this memory nobody would look for the card for minutes, and nobody could decide on
it; an emptied one would count as shown.
"""

from __future__ import annotations

from typing import Final

#: So many are remembered; that is enough, for a card's row is written soon after it was posted or
#: found.
_MOST: Final = 2_000


class Vanished:
    """The messages of one surface that went lately. It is kept in memory alone, for all open cards
    are read after a start."""

    def __init__(self) -> None:
        """Begin with no message noted."""
        self._ids: dict[str, None] = {}

    def note(self, message_id: str) -> None:
        """Note that this message went. Call it before looking up which card stands there."""
        self._ids.pop(message_id, None)
        self._ids[message_id] = None
        while len(self._ids) > _MOST:
            self._ids.pop(next(iter(self._ids)))

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._ids
