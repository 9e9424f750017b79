"""Reading cards: after a gap, every few minutes, and before a window closes (design section 6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from bot.chat.hearing import Hearing
from bot.chat.surface import SurfaceFailed
from lifecycle.ports import RowUnreadable, StoreUnavailable
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
        self._found_ms: dict[str, int] = {}
        self._damaged: set[str] = set()

    def doubt(self) -> None:
        """Something heard could not be worked: each card is read once more before it closes."""
        self._doubted_ms = self._workflow.world.clock.now_ms()

    def begin_anew(self) -> None:
        """Events may have been missed: no card counts as read."""
        self._read_ms.clear()

    def found_again(self, message_id: str) -> None:
        """A card stands since nobody knows when: it is read soon, and before anything counts.

        What was given on it before it was written down was given on a message that was no card.
        """
        self._found_ms[message_id] = self._workflow.world.clock.now_ms()

    async def read_card(self, card: Card) -> bool:
        """Read one card, unless nothing on it can have been missed; False where it cannot be."""
        if not card.message_ids:
            return False
        if not await self.may_be_unread(card) and self._quiet():
            return True
        return await self._read(card) is not None

    async def may_be_unread(self, card: Card) -> bool:
        """Say whether something may stand on a card that nobody heard: one rule for its window and
        for a ✅ that is to count."""
        return self.missed(card) or not await self._unbroken_since(self._looked_at_ms(card) or None)

    def missed(self, card: Card) -> bool:
        """Say whether something was surely, or may have been, missed on a card, as far as is known
        without asking the platform."""
        message_id, at_ms = card.message_ids[-1], self._looked_at_ms(card)
        if message_id in self._unread or message_id in self._found_ms:
            return True
        in_gap = self._hearing.gap and at_ms <= (self._hearing.since_ms or at_ms)
        return in_gap or at_ms <= self._doubted_ms

    def _looked_at_ms(self, card: Card) -> int:
        """Return since when all of a card is known, 0 for never."""
        return max(card.posted_at_ms or 0, self._read_ms.get(card.message_ids[-1], 0))

    async def _unbroken_since(self, at_ms: int | None) -> bool:
        """Say whether all was heard since then; on a quiet line the platform is asked once."""
        if not self._continuous or not self._hearing.stood_since(at_ms):
            return False
        if self._ask is not None and not self._hearing.fresh:
            await self._ask()
        return self._hearing.unbroken_since(at_ms)

    async def catch_up(self) -> int:
        """Read every open card after a gap and every three minutes, and soon those that were found
        again; return what was found."""
        now_ms, since_ms = self._workflow.world.clock.now_ms(), self._hearing.since_ms
        if since_ms != self._tried_since_ms:
            self._tried_since_ms, self._again_ms, self._pause_ms = since_ms, 0, 0
        every = now_ms - self._all_read_ms >= READ_AGAIN_MS
        wanted = every or self._hearing.gap or bool(self._found_ms)
        due = every or (wanted and now_ms >= self._again_ms)
        if not due or not self._hearing.connected or self._lock.locked():
            return 0
        async with self._lock:
            all_of_them = every or self._hearing.gap
            count, whole = await self._read_all(self._chosen(every, since_ms))
            self._all_read_ms = now_ms if every else self._all_read_ms
            self._pause_ms = 0 if whole else min(READ_AGAIN_MS, 2 * self._pause_ms + _PAUSE_MS)
            self._again_ms = self._workflow.world.clock.now_ms() + self._pause_ms
            if whole and all_of_them:
                self._hearing.caught_up(since_ms)
            return count

    def _chosen(self, every: bool, since_ms: int | None) -> Callable[[str], bool]:
        """Say which messages are read: every one, after a gap what was not read since, or those
        that were found again."""
        if every:
            return lambda _: True
        if self._hearing.gap:
            return lambda message_id: not self._read_since(message_id, since_ms)
        return self._found_ms.__contains__

    async def _read_all(self, chosen: Callable[[str], bool]) -> tuple[int, bool]:
        """Read every open card that is chosen."""
        count, whole, after = 0, True, ""
        seen: set[str] = set()
        while True:
            cards = await self._page(after)
            seen.update(*(card.message_ids[-1:] for card in cards))
            for card in cards:
                stands = bool(card.message_ids) and chosen(card.message_ids[-1])
                found = await self._read(card) if stands else 0
                whole = whole and (found is not None or card.message_ids[-1] in self._damaged)
                count += found or 0
            if len(cards) < _PAGE:
                self._forget_but(seen)
                return count, whole
            after = cards[-1].proposal_id

    def _forget_but(self, message_ids: set[str]) -> None:
        """Let go of cards of what has ended."""
        self._unread &= message_ids
        self._damaged &= message_ids
        self._read_ms = {k: at_ms for k, at_ms in self._read_ms.items() if k in message_ids}
        # What was found again a moment ago may not be written down yet.
        before_ms = self._workflow.world.clock.now_ms() - READ_AGAIN_MS
        self._found_ms = {
            k: at_ms for k, at_ms in self._found_ms.items() if k in message_ids or at_ms > before_ms
        }

    def _read_since(self, message_id: str, since_ms: int | None) -> bool:
        """Say whether a card was read since then, and could be."""
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
        except Exception as error:
            self._not_applied(card, error)
            return None
        message_id = card.message_ids[-1]
        self._unread.discard(message_id)
        self._damaged.discard(message_id)
        if self._found_ms.get(message_id, asked_ms) <= asked_ms:
            self._found_ms.pop(message_id, None)
        self._read_ms[message_id] = asked_ms
        return found

    def _not_applied(self, card: Card, error: Exception) -> None:
        """One card that was read and could not be applied is unread; the others are read all the
        same. Where its row is damaged it can only be mended by hand: no gap stays open for it."""
        if isinstance(error, StoreUnavailable) and not isinstance(error, RowUnreadable):
            raise error
        message_id = card.message_ids[-1]
        self._unread.add(message_id)
        if not isinstance(error, RowUnreadable):
            log.error("%s: a card was not read: %s", self._surface, type(error).__name__)
        elif message_id not in self._damaged:
            self._damaged.add(message_id)
            log.error("%s: what is given on a card is not heard: %s", self._surface, error)
