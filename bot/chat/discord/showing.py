"""Has cards shown again that do not show what they should.

Either Discord refused the file, or a moderator removed the embeds. Until an emptied card is shown
again, no ✅ on it counts: it was given on nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from bot.chat.discord.settings import SURFACE
from bot.chat.hearing.moderated import card_hidden
from bot.chat.showing.delivery import Delivery
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.workflow import Workflow

_FAR_MS: Final = 10**15
_MOST: Final = 10_000
_PAGE: Final = 100


class Showing:
    """Makes cards due; delivery then shows them."""

    def __init__(self, workflow: Workflow, delivery: Delivery) -> None:
        self._workflow = workflow
        self._delivery = delivery

    async def now(self) -> None:
        """Make due at once what waits to be tried again, and cards that lack their file."""

        def unit(tx: Transaction) -> None:
            for card in tx.cards.stale(SURFACE, _FAR_MS, _MOST):
                if card.retry_at_ms:
                    tx.cards.put(replace(card, retry_at_ms=0))
            for card in list(_cut(tx)):
                tx.cards.put(replace(card, shown_version=0))

        try:
            await self._workflow.world.store.write(unit)
        except StoreUnavailable:
            return
        self._delivery.nudge()

    def vanished(self, message_ids: Iterable[str]) -> None:
        """Note that messages were deleted: a card that is being posted may be one of them."""
        for message_id in message_ids:
            self._delivery.vanished.note(message_id)

    async def hidden(self, message_id: str) -> None:
        """Note that the embeds of a message were removed: a card in it shows nothing any more."""
        self._delivery.emptied.note(message_id)  # before the look for its row, as in `vanished`
        if await card_hidden(self._workflow.world, SURFACE, message_id):
            self._delivery.nudge()


def _cut(tx: Transaction) -> Iterator[Card]:
    """Yield the open cards that stand without their file; this runs within a unit."""
    after = ""
    while True:
        page = tx.cards.open_on(SURFACE, _PAGE, after)
        yield from (c for c in page if c.delivered and not c.full and c.shown_version > 0)
        if len(page) < _PAGE:
            return
        after = page[-1].proposal_id
