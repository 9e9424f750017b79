"""The only mention the bot ever makes: the reviewers' role, once a proposal that needs people."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.content import CardContent
from bot.chat.discord.rest import Outgoing
from bot.chat.discord.settings import SURFACE
from lifecycle.ports import Transaction
from lifecycle.records import Card

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface


class Calling:
    """Remembers with the card that its people were called."""

    def __init__(self, surface: DiscordSurface) -> None:
        self._surface = surface

    def role(self, content: CardContent, card: Card | None) -> int | None:
        """Return the role to call with this card now, None where nobody is to be called."""
        if content.call_group is None or (card is not None and card.extra.get("called")):
            return None
        return self._surface.settings.roles.get(content.call_group)

    async def late(self, content: CardContent, card: Card, message_id: int) -> None:
        """Call people under a card that did not need them when it was posted: edits call nobody."""
        role = self.role(content, card)
        if role is None:
            return
        text = f"<@&{role}> {content.proposal_id} needs you"
        nonce = nonce_of(f"call:{content.proposal_id}")
        outgoing = Outgoing(text=text, calls=role, reply_to=message_id, nonce=nonce)
        await self._surface.rest.send(outgoing)
        await self.called(content.proposal_id)

    async def called(self, proposal_id: str) -> None:
        """Write down that they were."""

        def unit(tx: Transaction) -> None:
            card = tx.cards.get(proposal_id, SURFACE)
            if card is not None:
                tx.cards.put(replace(card, extra={**card.extra, "called": True}))

        if self._surface.workflow is not None:
            await self._surface.workflow.world.store.write(unit)


def nonce_of(key: str) -> str:
    """Return the nonce of a message that is kept under `key`: at most 25 characters."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]
