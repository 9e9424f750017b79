"""Says kept messages in words: under what asked for them, else in the channel.

Twin: `slack/saying.py`.
"""

from __future__ import annotations

import logging

from bot.chat.commands.as_typed import as_typed
from bot.chat.discord.calling import nonce_of
from bot.chat.discord.render import Said, document_message, literal, words_message
from bot.chat.discord.rest import Outgoing, Rest
from bot.chat.discord.settings import PREFIX
from bot.chat.surface import SurfaceFailed, once
from lifecycle.records import Message

log = logging.getLogger("signoff.discord")


class Saying:
    """Says each message under a nonce of its own, so that it is said once."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def say(self, message: Message, asked_in: str) -> str | None:
        """Say one message; `asked_in` is `channel:message`, empty if nobody asked here.

        Returns the id of a message of words, to which people can reply; None for anything else.
        """
        nonce, body, words = nonce_of(once(message)), message.body, message.body.get("text")
        before = f"{literal(message.recipient)}:" if message.recipient else ""
        if message.kind == "permit":
            text = f"{before} {literal(str(body.get('proposal_id')))} is approved; its permit waits"
            await self._rest.send(Outgoing(text=f"{text} at the HTTP door.", nonce=nonce))
        elif isinstance(words, str):
            if message.kind == "announcement":
                words = as_typed(words, PREFIX, message.proposal_id)
            said = words_message(words, before)
            return str(await self._rest.send(Outgoing(said.text, file=said.file(), nonce=nonce)))
        else:
            await self._answer(document_message(body, before), nonce, asked_in)
        return None

    async def _answer(self, said: Said, nonce: str, asked_in: str) -> None:
        """Answer where it was asked; if that place takes nothing any more, in the channel."""
        channel, _, asked = asked_in.partition(":")
        where, ours = _number(channel), self._rest.settings.channel
        try:
            outgoing = Outgoing(said.text, file=said.file(), reply_to=_number(asked), nonce=nonce)
            await self._rest.send(outgoing, where)
        except SurfaceFailed as failure:
            if not failure.lasting or where in (None, ours):
                raise
            log.info("said in the channel, not where it was asked: %s", failure)
            await self._rest.send(Outgoing(said.text, file=said.file(), nonce=nonce))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
