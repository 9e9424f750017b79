"""Reads cards: after a gap, every few minutes, and before a window closes (design section 6)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from bot.chat.hearing.hearing import Hearing
from bot.chat.hearing.known import on_its_way
from bot.chat.surface import SurfaceFailed
from lifecycle.located import located
from lifecycle.ports import RowAtFault, RowRefused, RowUnreadable, StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.surfaces")

#: Open cards are read again after this long, whatever the connection says.
READ_AGAIN_MS: Final = 180_000
_PAGE: Final = 100
#: This many proposals in their windows, and as many that wait for people, come before all else.
_MOST_URGENT: Final = 200
#: A card that could not be read after a gap is read again after this pause, then after longer ones.
_PAUSE_MS: Final = 1_000


class Reading:
    """Reads the cards of one surface, and knows which were read in this connection.

    `read` applies what stands on one card and returns how many decisions were new, or raises
    SurfaceFailed; `quiet` says that nothing heard waits to be processed. If a connection that
    stands proves nothing (`continuous` is False), every card is read before its window closes.
    `ask` returns once the platform has given a sign of life, or gives none in time. `at_once` is
    how many cards a round are read without need, None for all: a platform that allows few readings
    must have room left for what people do and for windows that close.
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
        at_once: int | None = None,
    ) -> None:
        self._workflow = workflow
        self._surface = surface
        self._hearing = hearing
        self._read_one = read
        self._quiet = quiet
        self._continuous = continuous
        self._ask = ask
        self._at_once = at_once
        self._left: deque[str] = deque()
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
        self._why = ""

    def trouble(self) -> str | None:
        """Return why some cards could not be read when that was tried last, None if all could."""
        unread = len(self._unread - self._damaged)
        if not unread:
            return None
        what = f"no ✅ counts on {unread} cards, and no window closes, until they are read"
        return f"{what}: {self._why}"

    def doubt(self, error: BaseException | None = None) -> None:
        """Note that something heard could not be processed: each card is read once more before its
        window closes."""
        if error is not None:
            log.error("%s: an event could not be worked: %s", self._surface, located(error))
        self._doubted_ms = self._workflow.world.clock.now_ms()

    def begin_anew(self) -> None:
        """Note that events may have been missed: no card counts as read."""
        self._read_ms.clear()

    def found_again(self, message_id: str) -> None:
        """Note that a card has stood for an unknown time: it is read soon, before anything counts.

        What was given on it before it was written down was given on a message that was no card.
        """
        self._found_ms[message_id] = self._workflow.world.clock.now_ms()

    async def read_card(self, card: Card) -> bool:
        """Read one card, unless nothing on it can have been missed; return False if it cannot be
        read. A card that was deleted may stand anew, in a message that no row names yet."""
        if not card.message_ids or on_its_way(card, self._workflow.world.clock.now_ms()):
            return False
        if not await self.may_be_unread(card) and self._quiet():
            return True
        return await self._read(card) is not None

    async def may_be_unread(self, card: Card) -> bool:
        """Return whether something may stand on a card that nobody heard. The same rule holds for
        its window and for a ✅ that is to count."""
        return self.missed(card) or not await self._unbroken_since(self._looked_at_ms(card) or None)

    def missed(self, card: Card) -> bool:
        """Return whether something was, or may have been, missed on a card, as far as is known
        without asking the platform: for one that allows few readings."""
        message_id, at_ms = card.message_ids[-1], self._looked_at_ms(card)
        if message_id in self._unread or message_id in self._found_ms:
            return True
        in_gap = self._hearing.gap and at_ms <= (self._hearing.since_ms or at_ms)
        return in_gap or at_ms <= self._doubted_ms

    def _looked_at_ms(self, card: Card) -> int:
        """Return since when all of a card is known (ms UTC), 0 for never.

        A post later than now was made before the clock was set back: nobody knows when.
        """
        posted_ms = card.posted_at_ms or 0
        known_ms = posted_ms if posted_ms <= self._workflow.world.clock.now_ms() else 0
        return max(known_ms, self._read_ms.get(card.message_ids[-1], 0))

    async def _unbroken_since(self, at_ms: int | None) -> bool:
        """Return whether all was heard since then; on a quiet line the platform is asked once."""
        if not self._continuous or not self._hearing.stood_since(at_ms):
            return False
        if self._ask is not None and not self._hearing.fresh:
            await self._ask()
        return self._hearing.unbroken_since(at_ms)

    async def catch_up(self) -> int:
        """Read every open card after a gap and every three minutes, and soon those that were found
        again; return how many decisions were new. The most urgent cards are read first."""
        now_ms, since_ms = self._workflow.world.clock.now_ms(), self._hearing.since_ms
        if since_ms != self._tried_since_ms:
            self._tried_since_ms, self._again_ms, self._pause_ms = since_ms, 0, 0
        if not self._hearing.connected or self._lock.locked():
            return 0
        async with self._lock:
            wanted = self._hearing.gap or bool(self._found_ms)
            count = await self._missed(since_ms) if wanted and now_ms >= self._again_ms else 0
            return count + await self._regularly(now_ms)

    async def _missed(self, since_ms: int | None) -> int:
        """Read what may have been missed: after a gap the cards that were not read since, else the
        ones found again. One that cannot be read keeps the gap open, and alone is tried again."""
        in_gap, began_ms = self._hearing.gap, self._workflow.world.clock.now_ms()
        count, whole = 0, True
        for card in await self._open():
            if not self._chosen(card, since_ms):
                continue
            found = await self._read(card)
            whole = whole and (found is not None or card.message_ids[-1] in self._damaged)
            count += found or 0
        self._pause_ms = 0 if whole else min(READ_AGAIN_MS, 2 * self._pause_ms + _PAUSE_MS)
        self._again_ms = self._workflow.world.clock.now_ms() + self._pause_ms
        if in_gap and whole:
            self._hearing.caught_up(since_ms)
        if in_gap and self._all_read_ms < (since_ms or began_ms):
            self._all_read_ms = began_ms
            self._left.clear()
        return count

    def _chosen(self, card: Card, since_ms: int | None) -> bool:
        message_id = card.message_ids[-1]
        if not self._hearing.gap:
            return message_id in self._found_ms
        return not self._read_since(message_id, since_ms)

    async def _regularly(self, now_ms: int) -> int:
        """Go on reading all open cards, `at_once` a round; begin anew every three minutes."""
        if not self._left and now_ms - self._all_read_ms >= READ_AGAIN_MS:
            self._left.extend(card.proposal_id for card in await self._open())
            self._all_read_ms = now_ms
        count, store = 0, self._workflow.world.store
        for _ in range(min(len(self._left), self._at_once or len(self._left))):
            card = await store.read(partial(_still_open, self._surface, self._left.popleft()))
            count += (await self._read(card) or 0) if card is not None else 0
        return count

    async def _open(self) -> Sequence[Card]:
        """Return the cards of open proposals that stand, and forget all others.

        Windows come first, the next to close before all, then what waits for people, by deadline.
        """
        found, after = list[Card](), ""
        while page := await self._page(after):
            found += [card for card in page if card.message_ids]
            after = page[-1].proposal_id
            if len(page) < _PAGE:
                break
        self._forget_but({card.message_ids[-1] for card in found})
        soon = await self._workflow.world.store.read(_urgent)
        urgent = {proposal_id: place for place, proposal_id in enumerate(soon)}
        return sorted(found, key=lambda card: urgent.get(card.proposal_id, len(urgent)))

    async def _page(self, after: str) -> Sequence[Card]:
        store = self._workflow.world.store
        return await store.read(lambda tx: tx.cards.open_on(self._surface, _PAGE, after))

    def _forget_but(self, message_ids: set[str]) -> None:
        """Forget the cards of proposals that have ended."""
        self._unread &= message_ids
        self._damaged &= message_ids
        self._read_ms = {k: at_ms for k, at_ms in self._read_ms.items() if k in message_ids}
        # What was found again a moment ago may not be written down yet.
        before_ms = self._workflow.world.clock.now_ms() - READ_AGAIN_MS
        self._found_ms = {
            k: at_ms for k, at_ms in self._found_ms.items() if k in message_ids or at_ms > before_ms
        }

    def _read_since(self, message_id: str, since_ms: int | None) -> bool:
        """Return whether a card was read since then, and could be."""
        read_ms = self._read_ms.get(message_id, -1) if message_id not in self._unread else -1
        return since_ms is not None and read_ms > since_ms

    async def _read(self, card: Card) -> int | None:
        """Read one card; return how many decisions were new, None if it cannot be read."""
        asked_ms = self._workflow.world.clock.now_ms()
        try:
            found = await self._read_one(card)
        except SurfaceFailed as failure:
            log.info("%s: %s", self._surface, failure)
            self._unread.add(card.message_ids[-1])
            self._why = str(failure)
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
        """Count a card as unread that was read and could not be applied; others are read all the
        same. If its row is damaged, or is refused for what stands in it, only a person can mend it:
        no gap stays open for it. Raises any other StoreUnavailable."""
        if isinstance(error, StoreUnavailable) and not isinstance(error, RowAtFault):
            raise error
        message_id = card.message_ids[-1]
        self._unread.add(message_id)
        self._why = "what was read could not be processed"
        if not isinstance(error, RowUnreadable | RowRefused):
            log.error("%s: a card was not read: %s", self._surface, located(error))
        elif message_id not in self._damaged:
            self._damaged.add(message_id)
            log.error("%s: what is given on a card is not heard: %s", self._surface, error)


def _urgent(tx: Transaction) -> list[str]:
    soon = (*tx.proposals.executing(0, _MOST_URGENT), *tx.proposals.waiting(0, _MOST_URGENT))
    return [proposal.proposal_id for proposal in soon]


def _still_open(surface: str, proposal_id: str, tx: Transaction) -> Card | None:
    """Return the card that is to be read, as it stands by now; None if there is nothing to read."""
    card = tx.cards.get(proposal_id, surface)
    with suppress(RowUnreadable):  # then the reading says so
        proposal = tx.proposals.get(proposal_id)
        if proposal is None or proposal.terminal:
            return None
    return card if card is not None and card.message_ids else None
