"""What a row of its own keeps from being delivered: set aside, so that the rest goes on."""

from __future__ import annotations

import logging
from typing import Final

from lifecycle.ports import RowAtFault, RowUnreadable
from lifecycle.records import Card, Message
from lifecycle.world import World

log = logging.getLogger("signoff.delivery")

_LONGEST_PAUSE_MS: Final = 60_000


class SetAside:
    """Cards and messages of one surface whose row was at fault, and until when they wait.

    The row may be what notes that they were delivered: each attempt asks the platform again.
    """

    def __init__(self, world: World, surface: str) -> None:
        self._world = world
        self._surface = surface
        self._unreadable: set[str] = set()
        self._waits: dict[str, tuple[int, int]] = {}

    def holds(self, item: Card | Message) -> bool:
        """Say whether it is not to be tried yet."""
        until_ms, _ = self._waits.get(_key(item), (0, 0))
        return self._world.clock.now_ms() < until_ms

    def put(self, item: Card | Message, error: RowAtFault) -> None:
        """Leave it for a while, ever longer; people are told of what keeps failing."""
        if isinstance(error, RowUnreadable):
            self._not_readable(item, error)
            return
        key = _key(item)
        _, pause_ms = self._waits.get(key, (0, 500))
        pause_ms = min(_LONGEST_PAUSE_MS, pause_ms * 2)
        self._waits[key] = (self._world.clock.now_ms() + pause_ms, pause_ms)
        self._world.troubles.step_failed(self._step(item), str(error), whose=key)

    def delivered(self, item: Card | Message) -> None:
        """It went well, in the end."""
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
