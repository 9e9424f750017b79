"""The only mention the bot ever makes: the reviewers' group, once a proposal that needs people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.chat.cards.content import CardContent
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World


class Calling:
    """Remembers with the card of one surface that its people were called.

    `groups` maps a group of the config to what the platform can mention.
    """

    def __init__(self, world: World, surface: str, groups: Mapping[str, str]) -> None:
        self._world = world
        self._surface = surface
        self._groups = groups

    async def whom(self, content: CardContent) -> str | None:
        """Return whom to call with this card now, None where nobody is to be called."""
        group = self._groups.get(content.call_group or "")
        if group is None:
            return None
        card = await self._world.store.read(
            lambda tx: tx.cards.get(content.proposal_id, self._surface)
        )
        return None if card is not None and card.extra.get("called") else group

    async def called(self, proposal_id: str) -> None:
        """Write down that they were."""

        def unit(tx: Transaction) -> None:
            card: Card | None = tx.cards.get(proposal_id, self._surface)
            if card is not None:
                tx.cards.put(replace(card, extra={**card.extra, "called": True}))

        await self._world.store.write(unit)
