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
#: A card that could not be read after a gap is read again after so long, then after longer.
_PAUSE_MS: Final = 1_000


class Reading:
    """Which cards of a surface have been read in this connection.

    `read` applies what stands on one card and returns how many decisions were new, or raises
    SurfaceFailed; `quiet` says that nothing heard waits to be worked. Where a connection that
    stands proves nothing (`continuous` false) every card is read before its window closes. `ask`
    returns once the platform has given a sign of life, or gives none in time.
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
        ask: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._workflow = workflow
        self._surface = surface
        self._hearing = hearing
        self._read_one = read
        self._quiet = quiet
        self._continuous = continuous
        self._ask = ask
        self._lock = asyncio.Lock()
        self._all_read_ms = 0
        self._tried_since_ms: int | None = None
        self._again_ms = 0
        self._pause_ms = 0
        self._doubted_ms = 0
        self._read_ms: dict[str, int] = {}
        self._unread: set[str] = set()

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
        message_id = card.message_ids[-1]
        at_ms = max(card.posted_at_ms or 0, self._read_ms.get(message_id, 0))
        heard = message_id not in self._unread and await self._unbroken_since(at_ms or None)
        if heard and at_ms > self._doubted_ms and self._quiet():
            return True
        return await self._read(card) is not None

    async def _unbroken_since(self, at_ms: int | None) -> bool:
        """Say whether all was heard since then; on a quiet line the platform is asked once."""
        if not self._continuous or not self._hearing.stood_since(at_ms):
            return False
        if self._ask is not None and not self._hearing.fresh:
            await self._ask()
        return self._hearing.unbroken_since(at_ms)

    async def catch_up(self) -> int:
        """Read every open card after a gap and every three minutes; return what was found."""
        now_ms, since_ms = self._workflow.world.clock.now_ms(), self._hearing.since_ms
        if since_ms != self._tried_since_ms:
            self._tried_since_ms, self._again_ms, self._pause_ms = since_ms, 0, 0
        every = now_ms - self._all_read_ms >= READ_AGAIN_MS
        due = every or (self._hearing.gap and now_ms >= self._again_ms)
        if not due or not self._hearing.connected or self._lock.locked():
            return 0
        async with self._lock:
            count, whole = await self._read_all(None if every else since_ms)
            self._all_read_ms = now_ms if every else self._all_read_ms
            self._pause_ms = 0 if whole else min(READ_AGAIN_MS, 2 * self._pause_ms + _PAUSE_MS)
            self._again_ms = self._workflow.world.clock.now_ms() + self._pause_ms
            if whole:
                self._hearing.caught_up(since_ms)
            return count

    async def _read_all(self, but_since_ms: int | None) -> tuple[int, bool]:
        """Read every open card, but those that were read since then."""
        count, whole, after = 0, True, ""
        seen: set[str] = set()
        while True:
            cards = await self._page(after)
            seen.update(*(card.message_ids[-1:] for card in cards))
            for card in cards:
                found = 0 if self._is_read(card, but_since_ms) else await self._read(card)
                count, whole = count + (found or 0), whole and found is not None
            if len(cards) < _PAGE:
                self._forget_but(seen)
                return count, whole
            after = cards[-1].proposal_id

    def _forget_but(self, message_ids: set[str]) -> None:
        """Let go of cards of what has ended."""
        self._unread &= message_ids
        self._read_ms = {k: at_ms for k, at_ms in self._read_ms.items() if k in message_ids}

    def _is_read(self, card: Card, since_ms: int | None) -> bool:
        """Say whether nothing is to be read: no card stands, or it was read since then."""
        if not card.message_ids:
            return True
        message_id = card.message_ids[-1]
        read_ms = self._read_ms.get(message_id, -1) if message_id not in self._unread else -1
        return since_ms is not None and read_ms > since_ms

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
            self._unread.add(card.message_ids[-1])
            return None
        self._unread.discard(card.message_ids[-1])
        self._read_ms[card.message_ids[-1]] = asked_ms
        return found
