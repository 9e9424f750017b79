"""Sets cards and messages aside whose own row is at fault, so that the rest is delivered."""

from __future__ import annotations

import logging
from typing import Final

from lifecycle.ports import RowAtFault, RowUnreadable
from lifecycle.records import Card, Message
from lifecycle.world import World

log = logging.getLogger("signoff.delivery")

_LONGEST_PAUSE_MS: Final = 60_000


class SetAside:
    """Remembers which items of one surface are set aside, and until when.

    The faulty row may be the one that notes the delivery: each attempt asks the platform again.
    """

    def __init__(self, world: World, surface: str) -> None:
        self._world = world
        self._surface = surface
        self._unreadable: set[str] = set()
        self._waits: dict[str, tuple[int, int]] = {}

    def holds(self, item: Card | Message) -> bool:
        """Say whether this item still has to wait."""
        until_ms, _ = self._waits.get(_key(item), (0, 0))
        return self._world.clock.now_ms() < until_ms

    def put(self, item: Card | Message, error: RowAtFault) -> None:
        """Set an item aside, each time for twice as long (1 s to 60 s), and tell people.

        An unreadable row (RowUnreadable) is only logged, once for each proposal, and is not
        delayed.
        """
        if isinstance(error, RowUnreadable):
            self._not_readable(item, error)
            return
        key = _key(item)
        _, pause_ms = self._waits.get(key, (0, 500))
        pause_ms = min(_LONGEST_PAUSE_MS, pause_ms * 2)
        self._waits[key] = (self._world.clock.now_ms() + pause_ms, pause_ms)
        self._world.troubles.step_failed(self._step(item), str(error), whose=key)

    def delivered(self, item: Card | Message) -> None:
        """Note that an item was delivered after all, and that its trouble is over."""
        key = _key(item)
        if self._waits.pop(key, None) is not None:
            self._world.troubles.step_mended(self._step(item), key)

    def _step(self, item: Card | Message) -> str:
        about = f" about {item.proposal_id}" if item.proposal_id else ""
        what = "the card" if isinstance(item, Card) else "a message"
        return f"showing {what}{about} on {self._surface}"

    def _not_readable(self, item: Card | Message, error: RowUnreadable) -> None:
        proposal_id = item.proposal_id or ""
        if proposal_id not in self._unreadable:
            self._unreadable.add(proposal_id)
            log.error("%s: a card is not shown: %s", self._surface, error)


def _key(item: Card | Message) -> str:
    return f"card {item.proposal_id}" if isinstance(item, Card) else f"message {item.key}"
