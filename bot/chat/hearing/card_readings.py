"""Reads cards before their windows close, in time for this attempt to close or for the next one.

`bot/chat/showing/broadcast.py` calls it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bot.chat.surface import HearsSince, Surface
from lifecycle.located import located
from lifecycle.records import Card

log = logging.getLogger("signoff.surfaces")

#: A surface that does not answer within this holds up neither a closing nor a quorum.
PATIENCE_S: Final = 10.0
#: An answer that came late counts for attempts within this time after it came. Hundreds of windows
#: that end together are tried in rounds; but what was given on a card since is not in the answer.
_COUNTS_MS: Final = 75_000
#: If this many readings are kept, those that no attempt will ask for any more are dropped.
_MOST_LATE: Final = 1_000


class _Reading:
    """One reading of a card: its task, the connection in which it began, when its answer came."""

    def __init__(self, surface: Surface, card: Card, now_ms: Callable[[], int]) -> None:
        self._surface = surface
        self._now_ms = now_ms
        self._since_ms = _heard_since(surface)
        self._came_ms: int | None = None
        self.task = asyncio.create_task(surface.read_card(card))
        self.task.add_done_callback(self._came)

    @property
    def stale(self) -> bool:
        """True if its answer came and counts no more: too long ago, or for another connection."""
        if self._came_ms is None:
            return False
        other = _heard_since(self._surface) != self._since_ms
        return other or not 0 <= self._now_ms() - self._came_ms <= _COUNTS_MS

    def _came(self, _: asyncio.Task[bool]) -> None:
        self._came_ms = self._now_ms()


class CardReadings:
    """Reads cards on whichever surface they stand, each once at a time."""

    def __init__(self, surfaces: Mapping[str, Surface], now_ms: Callable[[], int]) -> None:
        self._surfaces = surfaces
        self._now_ms = now_ms
        self._begun: dict[tuple[str, ...], _Reading] = {}

    def tasks(self) -> Iterator[asyncio.Task[bool]]:
        """Yield the readings that are under way, or whose answers wait for an attempt."""
        return (each.task for each in self._begun.values())

    async def read(self, card: Card) -> bool:
        """Read one card; return True if it was read within PATIENCE_S.

        A reading that is late is not cancelled: a platform's call that is given up halfway may keep
        all its later ones waiting. Its answer counts for the next attempt if that comes soon, for
        no window could close otherwise while a platform answers slowly. It says nothing of another
        message in which the card stands by then.
        """
        key = (card.surface, card.proposal_id, *card.message_ids[-1:])
        begun = self._begun.get(key)
        if begun is None or begun.stale:
            self._forget_late()
            begun = _Reading(self._surfaces[card.surface], card, self._now_ms)
            self._begun[key] = begun
        await asyncio.wait({begun.task}, timeout=PATIENCE_S)
        if not begun.task.done():
            log.warning("a card could not be read: no answer in time")
            return False
        if self._begun.get(key) is begun:
            self._begun.pop(key)
        if went_well(begun.task):
            return begun.task.result() and not begun.stale
        if begun.task.cancelling():
            return False  # the bot ends, and reads nothing any more
        why = None if begun.task.cancelled() else begun.task.exception()
        log.warning("a card could not be read: %s", located(why))
        return False

    def _forget_late(self) -> None:
        """Drop stale answers that no attempt asked for: their windows ended in another way."""
        if len(self._begun) >= _MOST_LATE:
            self._begun = {k: each for k, each in self._begun.items() if not each.stale}


def went_well(task: asyncio.Task[Any]) -> bool:
    """Return whether a task has ended with a result."""
    return task.done() and not task.cancelled() and task.exception() is None


def _heard_since(surface: Surface) -> int | None:
    return surface.heard_since() if isinstance(surface, HearsSince) else None
