"""The one short note to whoever did something on a card that had no effect (design section 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.chat.discord.render import literal
from bot.chat.discord.settings import SURFACE, DiscordSettings
from bot.chat.notes import Notes
from lifecycle.answers import Reply, Sender
from lifecycle.workflow import Workflow

#: Writes words into a channel, under a message where one is named.
Write = Callable[[int, int | None, str], Awaitable[None]]


class Hint:
    """A short note to whoever reacted, under the card on which it was."""

    def __init__(self, sender: Sender, message_id: str, reply: Reply) -> None:
        self.sender = sender
        self.message_id = message_id
        self.reply = reply


class Hints:
    """Tells people, each once, where the configured channel is read."""

    def __init__(
        self, workflow: Workflow, settings: DiscordSettings, notes: Notes, write: Write
    ) -> None:
        self._workflow = workflow
        self._settings = settings
        self._write = write
        self._notes = notes

    async def tell(self, hint: Hint | None) -> None:
        """Tell somebody, once, why a reaction had no effect."""
        if hint is None:
            return
        if not self._notes.first_on(hint.message_id, hint.sender.account, hint.reply):
            return
        who = hint.sender.id or f"<@{hint.sender.account}>"
        # What stands elsewhere cannot be replied to in our channel.
        message_id = int(hint.message_id) if hint.reply.code != "wrong_place" else None
        words = f"{who}: {literal(hint.reply.words)}{await self._where_it_stands(hint)}"
        await self._write(self._settings.channel, message_id, words)

    async def _where_it_stands(self, hint: Hint) -> str:
        """Return the link to the current card, for whoever decided on an old one."""
        proposal_id, store = hint.reply.proposal_id, self._workflow.world.store
        if hint.reply.code != "stale_card" or proposal_id is None:
            return ""
        card = await store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
        if card is None or not card.message_ids:
            return ""
        place = f"{self._settings.guild}/{self._settings.channel}/{card.message_ids[-1]}"
        return f" It stands here: https://discord.com/channels/{place}"
