"""Cards that do not show what they should: of which Discord kept the file, or a moderator removed
the embeds. They are shown again, and meanwhile no ✅ counts that was given on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from bot.chat.discord.settings import SURFACE
from bot.chat.hearing.known import HIDDEN
from bot.chat.showing.delivery import Delivery
from lifecycle.door import record
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import SENTINEL
from lifecycle.records import Card
from lifecycle.workflow import Workflow

_FAR_MS: Final = 10**15
_MOST: Final = 10_000
_PAGE: Final = 100
#: How often a card's embeds were removed. Whoever does it again and again is answered ever slower.
_TIMES: Final = "hidden_times"
_LONGEST_PAUSE_MS: Final = 60_000


class Showing:
    """Makes cards due, which delivery then shows."""

    def __init__(self, workflow: Workflow, delivery: Delivery) -> None:
        self._workflow = workflow
        self._delivery = delivery

    async def now(self) -> None:
        """Try at once what waited, and to attach what could not be attached."""

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
        """Messages were deleted: a card that is being posted may be one of them."""
        for message_id in message_ids:
            self._delivery.vanished.note(message_id)

    async def hidden(self, message_id: str) -> None:
        """Somebody removed the embeds of a message: where it is a card it shows nothing any more.

        Nothing begins before it does again; what was approved on it before stands.
        """
        moment = self._workflow.world.moment()

        def unit(tx: Transaction) -> bool:
            card = tx.cards.find(SURFACE, message_id)
            proposal = tx.proposals.get(card.proposal_id) if card else None
            if card is None or proposal is None or message_id != card.message_ids[-1]:
                return False
            if card.shown_version == HIDDEN:
                return True
            details = {"surface": SURFACE, "message_id": message_id}
            record(tx, moment, "card_hidden", SENTINEL, proposal=proposal, details=details)
            tx.cards.put(_hidden(card, moment.now_ms))
            return True

        if await self._workflow.world.store.write(unit):
            self._delivery.nudge()


def _hidden(card: Card, now_ms: int) -> Card:
    times = int(card.extra.get(_TIMES, 0))
    pause_ms = min(_LONGEST_PAUSE_MS, 1000 * (2 ** min(times, 10) - 1))
    return replace(
        card,
        shown_version=HIDDEN,
        delivered=False,
        claim="",
        retry_at_ms=now_ms + pause_ms if pause_ms else 0,
        extra={**card.extra, _TIMES: times + 1},
    )


def _cut(tx: Transaction) -> Iterator[Card]:
    """Return the open cards that stand without the file that belongs to them."""
    after = ""
    while True:
        page = tx.cards.open_on(SURFACE, _PAGE, after)
        yield from (c for c in page if c.delivered and not c.full and c.shown_version > 0)
        if len(page) < _PAGE:
            return
        after = page[-1].proposal_id
