"""Reads the arguments of simple commands, and answers a command that is written otherwise."""

from __future__ import annotations

from bot.chat.commands.help import usage_of
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import split_id


def only_id(rest: str) -> str | None:
    """Return the only word that was given, None if there is none or more than one."""
    given, more = split_id(rest)
    return given if given and not more else None


def usage(command: str) -> CommandReply:
    """Return how a command is written, as the answer to whoever wrote it otherwise."""
    return CommandReply.words(f"Write: {usage_of(command)}", code="unknown_command")
