"""Tells where a command belongs that was typed at the prompt by mistake: the shell, or a key."""

from __future__ import annotations

from typing import Final

from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import typed

_LEAVING: Final = frozenset({"quit", "exit", "logout", "bye", ":q"})
_HOW_TO_LEAVE: Final = (
    "To leave, press Ctrl-D: the end of the input ends Signoff, unless a chat or HTTP is on."
)
#: Commands of the program in the shell that the prompt does not have.
SHELL: Final = frozenset({"run", "reload", "check-config", "backup", "restore", "bench", "mcp"})
#: Words that stand behind `audit` in the shell; at the prompt a proposal's id stands there.
SHELL_AUDIT: Final = frozenset({"verify", "export"})


def placed(reply: CommandReply, text: str) -> CommandReply:
    """Return the answer; if nothing here is called so, say where something is."""
    word, rest = typed(text)
    words = None
    if reply.code == "unknown_command":
        words = _elsewhere(word)
    elif reply.code == "unknown_proposal" and word == "audit" and rest.strip() in SHELL_AUDIT:
        words = _of_the_shell(f"audit {rest.strip()}")
    return reply if words is None else CommandReply.words(words, code=reply.code)


def _elsewhere(word: str) -> str | None:
    if word in _LEAVING:
        return _HOW_TO_LEAVE
    if word == "signoff":
        return "At this prompt a command stands alone: pending, not signoff pending. All: help"
    return _of_the_shell(word) if word in SHELL else None


def _of_the_shell(command: str) -> str:
    return f"{command} is a command of the shell, not of this prompt: signoff {command}"
