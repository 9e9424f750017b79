"""Cards that may stand in the channel although no row says where: they are looked for first."""

from __future__ import annotations

from typing import Final

from bot.chat.discord.rest import Rest
from bot.chat.discord.settings import SURFACE
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.workflow import Workflow

_FAR_MS: Final = 10**15
#: By so much the machine's clock may be ahead of Discord's.
_SKEW_MS: Final = 300_000


class Unwritten:
    """By claim: an answer was lost, or nobody knows yet whether it was written down."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._claims: set[str] = set()

    def __contains__(self, claim: str) -> bool:
        return claim in self._claims

    async def remember(self, workflow: Workflow) -> None:
        """Take over what a former process may have posted without writing it down."""
        try:
            stale = await workflow.world.store.read(
                lambda tx: tx.cards.stale(SURFACE, _FAR_MS, 10_000)
            )
        except StoreUnavailable:
            return
        self._claims = {card.claim for card in stale if card.claim and not card.delivered}

    def add(self, claim: str) -> None:
        """This card may stand."""
        self._claims.add(claim)

    def written(self, card: Card) -> None:
        """The row says where this card stands."""
        self._claims.discard(card.claim)

    async def found(
        self, workflow: Workflow | None, proposal_id: str, card: Card | None
    ) -> int | None:
        """Return the message in which the proposal's card stands, None where it is in none that
        can be one; `card` is its row. Raises SurfaceFailed."""
        known = card.message_ids if card is not None else ()
        if workflow is None:
            return await self._rest.posted_before(proposal_id, known)
        proposal = await workflow.world.store.read(lambda tx: tx.proposals.get(proposal_id))
        since_ms = proposal.created_at_ms - _SKEW_MS if proposal is not None else None
        return await self._rest.posted_before(proposal_id, known, since_ms)
