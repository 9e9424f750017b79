"""Implements the terminal as a surface: all is seen at once, and nothing is ever missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bot.chat.cards.content import CardContent
from bot.chat.commands.commands import Commands
from bot.chat.showing.delivery import Delivery
from bot.chat.surface import Posted, SurfaceFailed
from bot.chat.terminal.client import TerminalClient, standard_input
from bot.chat.terminal.render import Screen
from bot.chat.terminal.speakers import SURFACE
from bot.process.outlet import FULL
from lifecycle.records import Card, Message

_DATA: Final = Path("data")


class TerminalSurface:
    """Implements Surface over a screen; people decide by commands alone: nothing to read."""

    name = SURFACE

    def __init__(self, screen: Screen, folders: tuple[Path, ...] = (), data: Path = _DATA) -> None:
        """Take where to write, where `@path` is looked for, and the folder of the history."""
        self._screen = screen
        self._folders = folders
        self._data = data

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Answer what is typed, until the end of the input."""
        client = TerminalClient(commands, delivery, self._screen, folders=self._folders)
        with standard_input(self._data / "history", self._screen.line) as lines:
            await client.run(lines)

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Print the whole card."""
        await self._written(lambda: self._screen.card(content))
        return Posted(claim)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Print what became of the card below it: what is printed cannot be edited."""
        await self._written(lambda: self._screen.update(content))
        return Posted(card.message_ids[-1])

    async def say(self, message: Message) -> None:
        """Print words for people as lines, and anything for a proposer as one line of JSON.

        An announcement with the very words that were just the answer to a command is not repeated.
        """
        words = message.body.get("text")
        if isinstance(words, str):
            if self._screen.answered(words):
                return
            # Later lines are set in: words of somebody's answer must not look like lines of ours.
            await self._written(lambda: self._screen.line(words.replace("\n", "\n    ")))
        else:
            await self._written(lambda: self._screen.document(message.body))

    async def read_card(self, card: Card) -> bool:
        """Return True for a card that was printed: no decision can stand on it unheard."""
        return card.delivered

    async def catch_up(self) -> int:
        """Return 0, for nothing is ever missed."""
        return 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Return nothing, for the terminal has no accounts that could be lost."""
        return {}

    def health(self) -> Sequence[str]:
        """Say that the terminal is on, and whom it trusts."""
        return ("terminal: on; it trusts whoever types",)

    async def _written(self, write: Callable[[], None]) -> None:
        try:
            write()
            await self._screen.settled()
        except (OSError, ValueError) as error:
            raise SurfaceFailed(_why(error), lasting=True) from error
        await asyncio.sleep(0)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in FULL:
        return f"standard output cannot be written ({error.strerror})"
    return "nobody reads the terminal any more"
