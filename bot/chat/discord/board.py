"""Shows the board on Discord: one pinned message with an embed. Twin: `slack/board.py`."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import discord

from bot.chat.discord.calls import DoneUnknown, OfAnother
from bot.chat.discord.render import length, literal
from bot.chat.discord.rest import Outgoing
from bot.chat.showing.board import Board, BoardGroup, BoardLine, lines_that_fit
from bot.chat.surface import CardGone, SurfaceFailed

if TYPE_CHECKING:
    from bot.chat.discord.notifier import DiscordSurface

log = logging.getLogger("signoff.discord")

_COLOUR: Final = 0x5865F2
_ROOM: Final = 1000
_FOOTER: Final = "Kept current by Signoff · every proposal has a card of its own"


class DiscordBoard:
    """Places the board in the channel, for `BoardKeeper`."""

    def __init__(self, surface: DiscordSurface) -> None:
        self._rest, self._history = surface.rest, surface.history
        self._nonce: str | None = None

    async def place(self, board: Board, stood: str | None) -> str:
        """Edit the board where it stands, or post and pin it; return the id of its message."""
        outgoing = Outgoing(embed=render_board(board))
        if stood is not None and not stood.isdecimal():
            stood = None  # somebody wrote over it: no message has such an id
        doubtful = stood is None or self._nonce is not None
        found = await self._looked_for() if doubtful else None
        where = found or stood
        if where is not None:
            try:
                await self._rest.edit(int(where), outgoing)
                return await self._stands(where, pinned=where == stood)
            except (CardGone, OfAnother) as failure:
                log.info("a new board is posted: %s", failure)
        # The nonce is kept until a post is answered, so that a slow one does not make two boards.
        self._nonce = self._nonce or secrets.token_hex(12)
        posted = await self._rest.send(replace(outgoing, nonce=self._nonce))
        return await self._stands(str(posted), pinned=False)

    async def _looked_for(self) -> str | None:
        """Return the message of a board that no row names; None as well if the bot may not look."""
        try:
            return await self._history.with_footer(_FOOTER)
        except SurfaceFailed as failure:
            if not failure.lasting:
                raise
            return None

    async def _stands(self, message_id: str, *, pinned: bool) -> str:
        self._nonce = None
        if not pinned:
            await self._pin(int(message_id))
        return message_id

    async def _pin(self, message_id: int) -> None:
        try:
            await self._rest.pin(message_id)
        except DoneUnknown:
            return
        except SurfaceFailed as failure:
            log.warning("the board is not pinned: %s", failure)


def render_board(board: Board) -> discord.Embed:
    """Return the board as an embed within Discord's limits."""
    embed = discord.Embed(title=literal(board.title), colour=_COLOUR)
    for group in board.groups:
        name = f"{group.title}: {group.total}"
        embed.add_field(name=name, value=_lines(group), inline=False)
    embed.set_footer(text=_FOOTER)
    return embed


def _lines(group: BoardGroup) -> str:
    lines = lines_that_fit(group, _line, lambda text: length(text) <= _ROOM, "`!pending`")
    return lines or "nothing"


def _line(line: BoardLine) -> str:
    when = f" · <t:{line.at_ms // 1000}:R>" if line.at_ms is not None else ""
    text = literal(line.text)
    if length(text) > 300:
        text = text[:298].rstrip("\\") + "…"
    return f"**{literal(line.proposal_id)}** · {text}{when}"
