"""Reads commands from raw text, of people and of agent bots: a mention or `!`, then the command.

The library's own command processing ignores bots and interprets quote marks, so it is not used.
Twin: `slack/commands.py`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

import discord

from bot.chat.commands.commands import Commands
from bot.chat.commands.help import COMMANDS
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import BLANK, turning_signs, typed
from bot.chat.discord.files import attached, file_payload
from bot.chat.discord.render import Said, answer_messages
from bot.chat.discord.rest import Outgoing, Rest
from bot.chat.discord.settings import PREFIX, SURFACE, DiscordSettings
from bot.chat.hearing.left_behind import LISTENED
from bot.chat.hearing.notes import EDITED, Notes
from bot.chat.hearing.senders import sender_of, stranger
from bot.chat.showing.answering import Answers
from bot.chat.showing.aside import Asides
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")

#: Kinds of messages that somebody wrote. Of any other kind Discord writes the words, in somebody's
#: name: whoever gives a thread a new name has said nothing.
_WRITTEN: Final = frozenset(
    {
        *(discord.MessageType.default, discord.MessageType.reply),
        *(discord.MessageType.chat_input_command, discord.MessageType.context_menu_command),
    }
)


def command_text(content: str, me: int | None) -> str | None:
    """Return what stands behind `!` or the bot's mention, exactly as typed; None without one.

    Both may stand there, and more than once. Signs before them that turn what is shown are kept:
    they turn the id of the command, too.
    """
    mention = rf"<@!?{me}>(?:\s*[:,])*"
    begins = re.escape(PREFIX) if me is None else f"{re.escape(PREFIX)}|{mention}"
    led = re.match(rf"(?:[{BLANK}]*(?:{begins}))+", content)
    if led is not None:
        return turning_signs(led[0]) + content[led.end() :]
    found = re.search(mention, content) if me is not None else None
    if found is None:
        return None
    return f"{content[: found.start()].rstrip()} {content[found.end() :].strip()}"


def message_payload(
    about: discord.Message, settings: DiscordSettings, me: int | None
) -> dict[str, Any] | None:
    """Return what to keep of a message; None if the bot or Discord wrote it, or it is not for us
    to hear."""
    if about.author.id == me or about.type not in _WRITTEN:
        return None
    text = command_text(about.content, me)
    guild = about.guild.id if about.guild else getattr(about.channel, "guild_id", None)
    if guild is not None and guild != settings.guild and text is None:
        return None
    reference = about.reference
    return {
        "kind": "message",
        "message": str(about.id),
        "channel": str(about.channel.id),
        "guild": str(guild) if guild is not None else None,
        LISTENED: str(settings.channel),
        "parent": str(getattr(about.channel, "parent_id", None) or ""),
        "user": str(about.author.id),
        "bot": about.author.bot,
        "webhook": about.webhook_id is not None,
        "text": text,
        "words": about.content,
        "reply_to": str(reference.message_id) if reference and reference.message_id else None,
        "files": [file_payload(each) for each in about.attachments],
    }


def forwarded(about: discord.Message, settings: DiscordSettings) -> str | None:
    """Return which message of the channel this one forwards; None if it forwards none."""
    came = about.reference
    if came is None or not forwards(about):
        return None
    return str(came.message_id) if came.channel_id == settings.channel else None


def forwards(about: discord.Message) -> bool:
    """Say whether a message forwards another one; then it carries nothing of its own."""
    came = about.reference
    return came is not None and came.type is discord.MessageReferenceType.forward


def is_command_word(text: str) -> bool:
    """Say whether a text begins with a command's word: elsewhere only that counts as an attempt."""
    return typed(text).word in COMMANDS


class TextCommands:
    """Runs typed commands and answers under the message."""

    def __init__(
        self, commands: Commands, workflow: Workflow, rest: Rest, notes: Notes, asides: Asides
    ) -> None:
        self._commands = commands
        self._workflow = workflow
        self._rest = rest
        self._notes = notes
        self._asides = asides
        self.answers = Answers(workflow.world)

    async def run(self, event_id: str, payload: Mapping[str, Any]) -> None:
        """Carry out one command and answer it; if the answer fails, what was done stays done.

        No other command waits for the answer. Only the answer to a proposal is part of its event:
        if the bot ends before it is given, it is given after the start. Nothing waits behind that
        event.
        """
        sender = self.sender(payload, event_id)
        text = str(payload["text"])
        if sender.kind is None and (payload["bot"] or payload["webhook"]):
            await self._unknown_bot(sender, text, payload)
            return
        files = [attached(each, self._rest) for each in payload["files"]]
        reply = await self._commands.run(text, sender, files)
        if typed(text).word == "propose":
            await self._answer(payload, reply)
        else:
            self._aside(payload, self._answer(payload, reply))

    async def misplaced(self, event_id: str, payload: Mapping[str, Any]) -> None:
        """Note a command in a place where none is read: one audit row, one note to a person."""
        sender = self.sender(payload, event_id)
        await self._workflow.note_ignored("", sender, "wrong_place")
        if not payload["bot"] and self._notes.first(sender.account, "wrong_place"):
            words = f"Commands are read in <#{self._rest.settings.channel}> and its threads."
            self._aside(payload, self._say(payload, [Said(words)]))

    async def edited(self, event_id: str, payload: Mapping[str, Any]) -> None:
        """Note that an edited command changes nothing: one audit row, one note to a person."""
        sender = self.sender(payload, event_id)
        await self._workflow.note_ignored("", sender, "duplicate_event")
        by_person = not payload["bot"] and not payload["webhook"]
        told = by_person and is_command_word(str(payload.get("text") or ""))
        if told and self._notes.first(sender.account, "edited", str(payload["message"])):
            self._aside(payload, self._say(payload, [Said(EDITED)], named="e"))

    def _aside(self, payload: Mapping[str, Any], saying: Coroutine[Any, Any, None]) -> None:
        self._asides.begin(saying, to=str(payload["user"]))

    async def _answer(self, payload: Mapping[str, Any], reply: CommandReply) -> None:
        """Post an answer under the message that asked, or in the channel if that is gone."""
        await self._say(payload, answer_messages(reply), else_here=True, document=reply.document)

    def sender(self, payload: Mapping[str, Any], event_id: str) -> Sender:
        """Return who wrote a message; a webhook is a stranger, whatever it calls itself."""
        place = f"{payload['channel']}:{payload['message']}"
        if payload["webhook"]:
            account = f"webhook {payload['user']}"
            return stranger(SURFACE, account, event_id=event_id, place=place)
        policy = self._workflow.policy
        return sender_of(policy, SURFACE, payload["user"], event_id=event_id, place=place)

    async def _unknown_bot(self, sender: Sender, text: str, payload: Mapping[str, Any]) -> None:
        """Refuse an unnamed bot, and tell it once: two bots must not answer each other for ever."""
        if typed(text).word == "propose":
            reply = await self._commands.run("propose", sender)
        else:
            await self._workflow.note_ignored("", sender, "unknown_agent")
            reply = CommandReply.words("This bot is no configured agent; nothing was done.")
        if self._notes.first(sender.account, "unknown_agent"):
            self._aside(payload, self._answer(payload, reply))

    async def _say(
        self,
        payload: Mapping[str, Any],
        messages: Sequence[Said],
        *,
        else_here: bool = False,
        document: Mapping[str, Any] | None = None,
        named: str = "a",
    ) -> None:
        """Post messages; with the same name, Discord takes those to one message for the same."""
        left, asked_in = list(enumerate(messages)), int(payload["channel"])
        places = [asked_in]
        if else_here and asked_in != self._rest.settings.channel:
            places.append(self._rest.settings.channel)

        async def post() -> None:
            while left and places:
                number, each = left[0]
                first = number == 0 and places[0] == asked_in
                outgoing = Outgoing(
                    text=each.text,
                    file=each.file(),
                    reply_to=int(payload["message"]) if first else None,
                    nonce=f"{named}{number}{payload['message']}"[-25:],
                )
                try:
                    await self._rest.send(outgoing, places[0])
                    left.pop(0)
                except SurfaceFailed as failure:
                    if not failure.lasting:
                        raise
                    log.info("an answer cannot be posted: %s", failure)
                    places.pop(0)  # no permission, or the thread is gone: what was done stays done
            if left:
                raise SurfaceFailed("no place takes it", lasting=True)

        await self.answers.post(post, document)
