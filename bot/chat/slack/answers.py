"""Writes answers as Slack text: whole in one message, or the beginning with the whole in a file.

Twin: the second half of `discord/render.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.chat.cards.documents import gist_of, told_once, whole_of
from bot.chat.cards.fitting import Attachment, beginning
from bot.chat.commands.as_typed import answer_as_typed
from bot.chat.commands.replies import CommandReply
from bot.chat.slack.render import PREFIX
from bot.chat.slack.text import fenced, literal

#: Slack takes 40,000 characters, but splits a message of more than about 12,000.
_MOST: Final = 11_000
#: So much of a longer answer is shown: characters, and what they may be in their fence. In two
#: messages the second would stand outside of it.
_BEGINNING: Final = 3_000
_FENCED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """One message, and the file that holds what the message could not."""

    text: str
    attachment: Attachment | None = None


def answer(reply: CommandReply, name: str) -> Said:
    """Return the answer to a command; a file with the whole is called by `name`."""
    if reply.document is not None:
        return document_said(reply.document, name)
    reply = answer_as_typed(reply, PREFIX)
    text = literal(reply.text)
    if len(text) <= _MOST:
        return Said(text)
    mark = f"{reply.mark}\n" if reply.mark else ""
    words = f"{_beginning(reply.text)}…\n{mark}The whole answer is attached: {name}.txt"
    return Said(literal(words), Attachment(f"{name}.txt", reply.text + "\n"))


def document_said(document: Mapping[str, Any], name: str) -> Said:
    """Return one JSON object in a fence; of a large one the gist, with the whole as a file."""
    for told in (document, told_once(document)):
        text = fenced(told)
        if len(text) <= _MOST:
            return Said(text)
    attached = f"{name}.json"
    return Said(fenced(gist_of(document, attached)), whole_of(document, attached))


def answer_alone(reply: CommandReply) -> str:
    """Return the text of an answer to one person alone, who can be shown no file."""
    said = answer(reply, "answer")
    if said.attachment is None:
        return said.text
    if reply.document is not None:
        return fenced(gist_of(reply.document, "nowhere: mention the bot in the channel for it"))
    shown = _beginning(reply.text)
    left = len(reply.text) - len(shown)
    words = f"{shown}…\n{left} more characters are left out here. Mention the bot"
    return literal(f"{words} with the same command in the channel, and all of it comes as a file.")


def _beginning(text: str) -> str:
    """Return what is shown of a long text: less of one that is longer in its fence."""
    return beginning(text[:_BEGINNING], _FENCED, lambda shown: len(literal(shown)))
