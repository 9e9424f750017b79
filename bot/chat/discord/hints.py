"""Writes short notes to people: why what they did had no effect, what became of their words.

Twin: `slack/speaking.py`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.commands.as_typed import as_typed
from bot.chat.discord.linking import where_it_stands
from bot.chat.discord.render import literal
from bot.chat.discord.rest import Outgoing
from bot.chat.discord.settings import PREFIX
from bot.chat.hearing.inbox import Payload
from bot.chat.hearing.incoming import Incoming, hint_of
from bot.chat.hearing.looks import Looks
from bot.chat.hearing.notes import Notes
from bot.chat.showing.aside import Asides
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Reply, Sender
from lifecycle.workflow import Workflow

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface

log = logging.getLogger("signoff.discord")


@dataclass(frozen=True, slots=True)
class Hint:
    """A short note to somebody about their reaction, to be posted under the card."""

    sender: Sender
    message_id: str
    reply: Reply


def hint_about(reply: Reply | None, sender: Sender, message_id: str) -> Hint | None:
    """Return the note that the answer to a reaction calls for, None if it calls for none."""
    if reply is None or reply.code is None or hint_of(reply) is None:
        return None
    return Hint(sender, message_id, reply)


class Hints:
    """Posts notes in the configured channel, in tasks: no decision waits for one."""

    def __init__(
        self,
        workflow: Workflow,
        incoming: Incoming,
        surface: DiscordSurface,
        notes: Notes,
        asides: Asides,
    ) -> None:
        self._workflow = workflow
        self._incoming = incoming
        self._settings = surface.settings
        self._rest = surface.rest
        self._notes = notes
        self.asides = asides
        history = surface.history
        self._looks = Looks(workflow.world.clock, lambda each: history.card_in(int(each)))

    def note(self, hint: Hint | None, *, if_forgotten: bool = False) -> None:
        """Tell somebody why their reaction had no effect; with `if_forgotten`, only if the message
        looks like a card of ours."""
        if hint is not None:
            self.asides.begin(self._forgotten(hint) if if_forgotten else self.tell(hint))

    def answer(self, payload: Payload, words: str) -> None:
        """Reply with words to a message. Unlike a note this is said each time."""
        place = (int(payload["channel"]), int(payload["message"]))
        self.asides.begin(self._write(*place, literal(words)), to=str(payload["user"]))

    async def tell(self, hint: Hint) -> None:
        """Tell somebody, once, why their reaction had no effect."""
        if not self._notes.first_on(hint.message_id, hint.sender.account, hint.reply):
            return
        who = hint.sender.id or f"<@{hint.sender.account}>"
        # A message in another channel cannot be replied to from ours.
        message_id = int(hint.message_id) if hint.reply.code != "wrong_place" else None
        told = as_typed(hint.reply.words, PREFIX, hint.reply.proposal_id)
        store = self._workflow.world.store
        place = await where_it_stands(store, self._settings, hint.reply)
        words = f"{who}: {literal(told)}{place}"
        await self._write(self._settings.channel, message_id, words)

    async def _forgotten(self, hint: Hint) -> None:
        try:
            looks = await self._looks.card_in(hint.message_id, hint.sender.account)
        except SurfaceFailed:
            return
        reply = await self._incoming.on_no_card(looks) if looks is not None else None
        if reply is not None:
            await self.tell(Hint(hint.sender, hint.message_id, reply))

    async def _write(self, channel: int, message_id: int | None, words: str) -> None:
        try:
            await self._rest.send(Outgoing(text=words[:1900], reply_to=message_id), channel)
        except SurfaceFailed as failure:
            log.info("a note could not be posted: %s", failure)
