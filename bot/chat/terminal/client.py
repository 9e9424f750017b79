"""The terminal channel: a line, its tool call included, is finished before the next is read."""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bot.chat.commands import Commands
from bot.chat.delivery import Delivery
from bot.chat.replies import CommandReply
from bot.chat.terminal.commands import TerminalCommands
from bot.chat.terminal.fences import Abandoned, Input, whole
from bot.chat.terminal.lines import Lines
from bot.chat.terminal.render import Screen
from lifecycle.ports import StoreUnavailable

log = logging.getLogger("signoff.terminal")

_WELCOME: Final = (
    "Signoff at the terminal. Whoever types here is trusted: `ben: approve p1` speaks for ben. "
    "All commands: help. To leave: Ctrl-D"
)


class TerminalClient:
    """Reads lines until there are no more, and answers each before it reads the next."""

    def __init__(
        self,
        commands: Commands,
        delivery: Delivery,
        screen: Screen,
        *,
        folders: tuple[Path, ...],
    ) -> None:
        self._workflow = commands.workflow
        self._delivery = delivery
        self._screen = screen
        self._commands = TerminalCommands(commands, folders, lambda: secrets.token_hex(4))

    async def run(self, lines: Input) -> None:
        """Work until the end of the input; raises nothing where nobody reads the answers."""
        try:
            if self._screen.drawn:
                self._screen.line(_WELCOME)
            await self.settled()
            while (line := await lines.next()) is not None:
                try:
                    command = await whole(line, lines)
                except Abandoned:
                    continue
                await self.answer(command)
        except OSError as error:
            why = error.strerror or str(error)
            log.warning("the terminal is gone (%s): what is typed from here on is not read", why)

    async def answer(self, line: bytes) -> None:
        """Answer one line, then finish what it set in motion."""
        async with self._delivery.held():
            reply = await self._run(line)
            if reply is not None:
                self._screen.reply(reply)
        await self.settled()
        self._screen.forget_answer()

    async def _run(self, line: bytes) -> CommandReply | None:
        """Run one line; a mistake of ours costs its answer, never the terminal."""
        try:
            return await self._commands.run(line)
        except OSError:
            raise
        except Exception as error:
            log.exception("a line could not be worked off: %s", type(error).__name__)
            return CommandReply.words("Something went wrong here; tell an operator to see the log.")

    async def settled(self) -> None:
        """Show what is due and let what waited for its card begin, until nothing can move now."""
        try:
            while await self._moved():
                await self._workflow.idle()
        except StoreUnavailable:
            log.error("the store cannot be read or written; the terminal shows the rest later")

    async def _moved(self) -> bool:
        await self._workflow.idle()
        shown = await self._delivery.drain()
        opened = await self._workflow.open_ready()
        return bool(shown or opened)


def standard_input(history: Path, say: Callable[[str], None]) -> Input:
    """Return the input at hand: a keyboard with a prompt, else the lines of a pipe or a file."""
    if sys.stdin.isatty():
        from bot.chat.terminal.keyboard import Keyboard

        return Keyboard(history, say)
    return Lines(sys.stdin.fileno())
