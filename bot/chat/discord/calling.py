"""Calls the reviewers' role once, with the card of a proposal that needs people.

This is the only mention that the bot ever makes. Twin for Slack: `cards/calling.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bot.chat.cards.content import CardContent
from bot.chat.discord.rest import Outgoing
from bot.chat.discord.settings import SURFACE
from bot.chat.surface import SurfaceFailed
from lifecycle.ports import Transaction
from lifecycle.records import Card

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface

#: Marks in the row of a card: its people are being called, and they were called.
_BEGUN: Final = "calling"
_CALLED: Final = "called"


class Calling:
    """Remembers in the card's row that its people were called."""

    def __init__(self, surface: DiscordSurface) -> None:
        self._surface = surface

    def role(self, content: CardContent, card: Card | None) -> int | None:
        """Return the role to call with this card now, None if nobody is to be called."""
        if content.call_group is None or (card is not None and card.extra.get(_CALLED)):
            return None
        return self._surface.settings.roles.get(content.call_group)

    async def made(self, content: CardContent, card: Card | None, called: Collection[int]) -> None:
        """Note that a card found again `called` its role already: nobody is called twice."""
        if self.role(content, card) in called:
            await self.called(content.proposal_id)

    async def late(self, content: CardContent, card: Card, message_id: int) -> None:
        """Call people under a card that did not need them at its post, for an edit calls nobody.

        That the call is being made is written down first. If that mark stands there already, an
        answer or a process was lost: Discord remembers a nonce for minutes only, so the call is
        looked for.
        """
        role = self.role(content, card)
        if role is None:
            return
        surface = self._surface
        begun = await self._marked(content.proposal_id, _BEGUN)
        if not begun or not await self._stands(message_id, role):
            text = f"<@&{role}> {content.proposal_id} needs you"
            nonce = nonce_of(f"call:{content.proposal_id}:{message_id}")
            outgoing = Outgoing(text=text, calls=role, reply_to=message_id, nonce=nonce)
            await surface.rest.send(outgoing)
        await self.called(content.proposal_id)

    async def _stands(self, message_id: int, role: int) -> bool:
        """Say whether people were called under a card; True if the bot may not look."""
        try:
            return await self._surface.history.called_under(message_id, role)
        except SurfaceFailed as failure:
            if not failure.lasting:
                raise
            return True

    async def called(self, proposal_id: str) -> None:
        """Write down that the card's people were called."""
        await self._marked(proposal_id, _CALLED)

    async def _marked(self, proposal_id: str, mark: str) -> bool:
        """Mark the card's row; return True if it bore the mark before."""

        def unit(tx: Transaction) -> bool:
            card = tx.cards.get(proposal_id, SURFACE)
            if card is None or card.extra.get(mark):
                return card is not None
            tx.cards.put(replace(card, extra={**card.extra, mark: True}))
            return False

        workflow = self._surface.workflow
        return workflow is not None and await workflow.world.store.write(unit)


def nonce_of(key: str) -> str:
    """Return the nonce for what must be posted once under `key`: 24 characters of 25 allowed."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]
