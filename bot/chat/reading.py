"""Reading cards: after a gap, every few minutes, and before a window closes (design section 6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from bot.chat.hearing import Hearing
from bot.chat.surface import SurfaceFailed
from lifecycle.records import Card
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.surfaces")

#: Open cards are read again after so long, whatever the connection says.
READ_AGAIN_MS: Final = 180_000
_PAGE: Final = 100


class Reading:
    """Which cards of a surface have been read in this connection.

    `read` applies what stands on one card and returns how many decisions were new, or raises
    SurfaceFailed; `quiet` says that nothing heard waits to be worked. Where a connection that
    stands proves nothing (`continuous` false) every card is read before its window closes.
    """

    def __init__(
        self,
        workflow: Workflow,
        surface: str,
        hearing: Hearing,
        read: Callable[[Card], Awaitable[int]],
        quiet: Callable[[], bool],
        *,
        continuous: bool = True,
    ) -> None:
        self._workflow = workflow
        self._surface = surface
        self._hearing = hearing
        self._read_one = read
        self._quiet = quiet
        self._continuous = continuous
        self._lock = asyncio.Lock()
        self._all_read_ms = 0
        self._doubted_ms = 0
        self._read_ms: dict[str, int] = {}

    def doubt(self) -> None:
        """Something heard could not be worked: each card is read once more before it closes."""
        self._doubted_ms = self._workflow.world.clock.now_ms()

    def begin_anew(self) -> None:
        """Events may have been missed: no card counts as read."""
        self._read_ms.clear()

    async def read_card(self, card: Card) -> bool:
        """Read one card, unless nothing on it can have been missed; False where it cannot be."""
        if not card.message_ids:
            return False
        at_ms = max(card.posted_at_ms or 0, self._read_ms.get(card.message_ids[-1], 0))
        heard = self._continuous and self._hearing.unbroken_since(at_ms or None)
        if heard and at_ms > self._doubted_ms and self._quiet():
            return True
        return await self._read(card) is not None

    async def catch_up(self) -> int:
        """Read every open card after a gap and every three minutes; return what was found."""
        now_ms, since_ms = self._workflow.world.clock.now_ms(), self._hearing.since_ms
        due = self._hearing.gap or now_ms - self._all_read_ms >= READ_AGAIN_MS
        if not due or not self._hearing.connected or self._lock.locked():
            return 0
        async with self._lock:
            count, whole = await self._read_all()
            if whole:
                self._hearing.caught_up(since_ms)
                self._all_read_ms = now_ms
            return count

    async def _read_all(self) -> tuple[int, bool]:
        count, whole, after = 0, True, ""
        while True:
            cards = await self._page(after)
            for card in cards:
                found = await self._read(card) if card.message_ids else 0
                count, whole = count + (found or 0), whole and found is not None
            if len(cards) < _PAGE:
                return count, whole
            after = cards[-1].proposal_id

    async def _page(self, after: str) -> list[Card]:
        store = self._workflow.world.store
        return list(await store.read(lambda tx: tx.cards.open_on(self._surface, _PAGE, after)))

    async def _read(self, card: Card) -> int | None:
        """Read one card; return how many decisions were found, None where it cannot be read."""
        asked_ms = self._workflow.world.clock.now_ms()
        try:
            found = await self._read_one(card)
        except SurfaceFailed as failure:
            log.info("%s: %s", self._surface, failure)
            return None
        self._read_ms[card.message_ids[-1]] = asked_ms
        return found
