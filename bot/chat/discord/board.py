"""The board: one pinned message, kept current, in place of scrolling through cards."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

import discord

from bot.chat.board import Board, BoardGroup, BoardLine, board_of
from bot.chat.discord.calls import DoneUnknown
from bot.chat.discord.render import length, literal
from bot.chat.discord.rest import Outgoing, Rest
from bot.chat.surface import CardGone, SurfaceFailed
from lifecycle.ports import StoreUnavailable
from lifecycle.world import World

log = logging.getLogger("signoff.discord")

FLAG: Final = "board:discord"
_LOOK_S: Final = 2.0
_COLOUR: Final = 0x5865F2
_ROOM: Final = 1000


class BoardKeeper:
    """Looks what the board should say, and edits it where that changed."""

    def __init__(self, world: World, rest: Rest, look_s: float = _LOOK_S) -> None:
        self._world = world
        self._rest = rest
        self._look_s = look_s
        self._shown: Board | None = None
        self._looked_for = asyncio.Event()
        self.trouble: str | None = None

    async def run(self) -> None:
        """Keep the board current until cancelled."""
        pause_s = self._look_s
        while True:
            try:
                await self.show()
                pause_s, self.trouble = self._look_s, None
            except SurfaceFailed as failure:
                self.trouble = str(failure)
                pause_s = min(60.0, failure.retry_after_s or pause_s * 2)
            except StoreUnavailable:
                pause_s = min(60.0, pause_s * 2)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._looked_for.wait(), pause_s)
            self._looked_for.clear()

    async def show(self) -> None:
        """Show the board as it stands now, where that is not what is shown already."""
        now_ms = self._world.clock.now_ms()
        board = await self._world.store.read(lambda tx: board_of(tx, now_ms))
        if board == self._shown:
            return
        await self._place(Outgoing(embed=render_board(board)))
        self._shown = board

    def lost(self) -> None:
        """The board may be gone: show it again."""
        self._shown = None
        self._looked_for.set()

    async def _place(self, outgoing: Outgoing) -> None:
        message_id = await self._world.store.read(lambda tx: tx.flags.get(FLAG))
        if message_id is not None:
            try:
                await self._rest.edit(int(message_id), outgoing)
                return
            except CardGone:
                log.info("the board was deleted; a new one is posted")
        await self._post(outgoing)

    async def _post(self, outgoing: Outgoing) -> None:
        posted = await self._rest.send(outgoing)
        await self._world.store.write(lambda tx: tx.flags.put(FLAG, str(posted)))
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
