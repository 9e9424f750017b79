"""Cards that may stand in the channel although no row says where: they are looked for first."""

from __future__ import annotations

from typing import Final

from bot.chat.cards.content import CardContent
from bot.chat.discord.history import Found, History
from bot.chat.discord.settings import SURFACE
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.workflow import Workflow

_FAR_MS: Final = 10**15
#: By so much the machine's clock may be ahead of Discord's.
_SKEW_MS: Final = 300_000
#: So many are remembered. A card that is never edited is not known to be written down.
_MOST: Final = 10_000


class Unwritten:
    """By claim: an answer was lost, or nobody knows yet whether it was written down."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._claims: dict[str, None] = {}
        self._remembers = False

    def __contains__(self, claim: str) -> bool:
        return claim in self._claims or not self._remembers

    async def remember(self, workflow: Workflow) -> None:
        """Take over what a former process may have posted without writing it down; where the store
        cannot be read, every card may stand."""
        try:
            stale = await workflow.world.store.read(
                lambda tx: tx.cards.stale(SURFACE, _FAR_MS, _MOST)
            )
        except StoreUnavailable:
            return
        self._claims |= {card.claim: None for card in stale if card.claim and not card.delivered}
        self._remembers = True

    def add(self, claim: str) -> None:
        """This card may stand."""
        self._claims[claim] = None
        while len(self._claims) > _MOST:
            self._claims.pop(next(iter(self._claims)))

    def written(self, card: Card) -> None:
        """The row says where this card stands, unless it is being posted again."""
        if card.delivered:
            self._claims.pop(card.claim, None)

    async def found(
        self, workflow: Workflow | None, content: CardContent, card: Card | None
    ) -> Found | None:
        """Return the message in which a card stands that is to show this, None where it is in none
        that can be one; `card` is its row. Raises SurfaceFailed."""
        if workflow is not None and not self._remembers:
            await self.remember(workflow)
        known = card.message_ids if card is not None else ()
        if workflow is None:
            return await self._history.card_of(content.footer, known)
        proposal = await workflow.world.store.read(lambda tx: tx.proposals.get(content.proposal_id))
        since_ms = proposal.created_at_ms - _SKEW_MS if proposal is not None else None
        return await self._history.card_of(content.footer, known, since_ms)
