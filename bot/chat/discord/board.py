"""The board on Discord: one pinned message with an embed."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace
from typing import Final

import discord

from bot.chat.board import Board, BoardGroup, BoardLine
from bot.chat.discord.calls import DoneUnknown
from bot.chat.discord.render import length, literal
from bot.chat.discord.rest import Outgoing, Rest
from bot.chat.surface import CardGone, SurfaceFailed

log = logging.getLogger("signoff.discord")

_COLOUR: Final = 0x5865F2
_ROOM: Final = 1000


class DiscordBoard:
    """Places the board in the channel."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._nonce: str | None = None

    async def place(self, board: Board, stood: str | None) -> str:
        """Edit the board where it stands, or post and pin it; return the id of its message."""
        outgoing = Outgoing(embed=render_board(board))
        if stood is not None:
            try:
                await self._rest.edit(int(stood), outgoing)
                return stood
            except CardGone:
                log.info("the board was deleted; a new one is posted")
        # Kept until it is answered: a post that was slow is not a second board.
        self._nonce = self._nonce or secrets.token_hex(12)
        posted = await self._rest.send(replace(outgoing, nonce=self._nonce))
        self._nonce = None
        await self._pin(posted)
        return str(posted)

    async def _pin(self, posted: int) -> None:
        try:
            await self._rest.pin(posted)
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
    embed.set_footer(text="Kept current by Signoff · every proposal has a card of its own")
    return embed


def _lines(group: BoardGroup) -> str:
    lines: list[str] = []
    for line in group.lines:
        shown = _line(line)
        if length("\n".join([*lines, shown])) > _ROOM:
            break
        lines.append(shown)
    left = group.total - len(lines)
    if left > 0:
        lines.append(f"… {left} more: `!pending`")
    return "\n".join(lines) or "nothing"


def _line(line: BoardLine) -> str:
    when = f" · <t:{line.at_ms // 1000}:R>" if line.at_ms is not None else ""
    text = literal(line.text)
    if length(text) > 300:
        text = text[:298].rstrip("\\") + "…"
    return f"**{literal(line.proposal_id)}** · {text}{when}"
