"""What a command is given, and what is said where that is not what it takes."""

from __future__ import annotations

from bot.chat.commands.help import usage_of
from bot.chat.commands.replies import CommandReply


def only_id(rest: str) -> str | None:
    """Return the one word that was given, None for none or more."""
    words = rest.split()
    return words[0] if len(words) == 1 else None


def usage(command: str) -> CommandReply:
    """Say how a command is written, to whoever wrote it otherwise."""
    return CommandReply.words(f"Write: {usage_of(command)}", code="unknown_command")
