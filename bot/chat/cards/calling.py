"""Calls the reviewers' group once, with the card of a proposal that needs people.

This is the only mention that the bot ever makes. Slack uses this module; its twin on Discord, which
also looks for a call whose answer was lost, is `discord/calling.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.chat.cards.content import CardContent
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World


class Calling:
    """Remembers in the row of one surface's card that its people were called.

    `groups` maps a group of the config to what the platform can mention.
    """

    def __init__(self, world: World, surface: str, groups: Mapping[str, str]) -> None:
        self._world = world
        self._surface = surface
        self._groups = groups

    async def whom(self, content: CardContent) -> str | None:
        """Return whom to call with this card now, None if nobody is to be called."""
        group = self._groups.get(content.call_group or "")
        if group is None:
            return None
        card = await self._world.store.read(
            lambda tx: tx.cards.get(content.proposal_id, self._surface)
        )
        return None if card is not None and card.extra.get("called") else group

    async def called(self, proposal_id: str) -> None:
        """Write down in the card's row that its people were called."""

        def unit(tx: Transaction) -> None:
            card: Card | None = tx.cards.get(proposal_id, self._surface)
            if card is not None:
                tx.cards.put(replace(card, extra={**card.extra, "called": True}))

        await self._world.store.write(unit)
