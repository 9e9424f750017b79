"""Cards that are being read before a window closes: in time, or for the next attempt."""

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
#: An answer that came late counts for an attempt within so long after it came: hundreds of windows
#: that end together are tried in rounds, and what was given on a card since is not in it.
_COUNTS_MS: Final = 75_000
#: So many answers that came late may wait for an attempt.
_MOST_LATE: Final = 1_000


class _Reading:
    """A card that is being read, in which connection, and when its answer came."""

    def __init__(self, surface: Surface, card: Card, now_ms: Callable[[], int]) -> None:
        self._surface = surface
        self._now_ms = now_ms
        self._since_ms = _heard_since(surface)
        self._came_ms: int | None = None
        self.task = asyncio.create_task(surface.read_card(card))
        self.task.add_done_callback(self._came)

    @property
    def stale(self) -> bool:
        """True where its answer came and counts no more; none counts for another connection."""
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
        """Yield what is under way, or waits for an attempt."""
        return (each.task for each in self._begun.values())

    async def read(self, card: Card) -> bool:
        """Read one card, in time.

        What is late is left to itself: half of a platform's call given up may keep all its later
        ones waiting. Its answer counts for the next attempt, as long as that comes soon; where a
        platform answers slowly no window could close otherwise. It says nothing of another message
        in which the card stands by then.
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
        """Let go of answers that no attempt came for: what they were for has ended otherwise."""
        if len(self._begun) >= _MOST_LATE:
            self._begun = {k: each for k, each in self._begun.items() if not each.stale}


def went_well(task: asyncio.Task[Any]) -> bool:
    """Say whether a task has ended with a result."""
    return task.done() and not task.cancelled() and task.exception() is None


def _heard_since(surface: Surface) -> int | None:
    return surface.heard_since() if isinstance(surface, HearsSince) else None
