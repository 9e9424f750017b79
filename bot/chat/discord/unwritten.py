"""Remembers which cards may stand in the channel without a row, and looks for them before posting.

Twin: `slack/unwritten.py`.
"""

from __future__ import annotations

from typing import Final

from bot.chat.cards.content import CardContent
from bot.chat.discord.history import Found, History
from bot.chat.discord.settings import SURFACE
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.workflow import Workflow

_FAR_MS: Final = 10**15
#: The machine's clock may be ahead of Discord's by so much.
_SKEW_MS: Final = 300_000
#: So many claims are remembered: only an edit tells that a card's row was written.
_MOST: Final = 10_000


class Unwritten:
    """Claims whose post was not answered, or whose row is not known to be written yet."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._claims: dict[str, None] = {}
        self._remembers = False

    def __contains__(self, claim: str) -> bool:
        return claim in self._claims or not self._remembers

    async def remember(self, workflow: Workflow) -> None:
        """Take over the claims that a former process may have posted without writing a row. Until
        the store could be read, every card counts as one that may stand."""
        try:
            stale = await workflow.world.store.read(
                lambda tx: tx.cards.stale(SURFACE, _FAR_MS, _MOST)
            )
        except StoreUnavailable:
            return
        self._claims |= {card.claim: None for card in stale if card.claim and not card.delivered}
        self._remembers = True

    def add(self, claim: str) -> None:
        """Note that the card with this claim may stand."""
        self._claims[claim] = None
        while len(self._claims) > _MOST:
            self._claims.pop(next(iter(self._claims)))

    def written(self, card: Card) -> None:
        """Note that the row says where this card stands, unless it is being posted again."""
        if card.delivered:
            self._claims.pop(card.claim, None)

    async def found(
        self, workflow: Workflow | None, content: CardContent, card: Card | None
    ) -> Found | None:
        """Return the message in which this card stands already, None if there is none; `card` is
        its row. Raises SurfaceFailed."""
        if workflow is not None and not self._remembers:
            await self.remember(workflow)
        known = card.message_ids if card is not None else ()
        if workflow is None:
            return await self._history.card_of(content.footer, known)
        proposal = await workflow.world.store.read(lambda tx: tx.proposals.get(content.proposal_id))
        since_ms = proposal.created_at_ms - _SKEW_MS if proposal is not None else None
        return await self._history.card_of(content.footer, known, since_ms)
