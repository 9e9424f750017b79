"""Shows the board on Slack: one pinned message in Block Kit. Twin: `discord/board.py`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Final

from bot.chat.cards.spans import moment_words
from bot.chat.showing.board import Board, BoardGroup, BoardLine, lines_that_fit
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.render import Block, context, header, plain
from bot.chat.slack.rest import EditRefused, Rest
from bot.chat.slack.text import escape, measure
from bot.chat.surface import CardGone, SurfaceFailed

log = logging.getLogger("signoff.slack")

#: The flag in the store that holds the board's ts.
FLAG: Final = f"board:{SURFACE}"
#: If the workspace forbids edits, the board is posted anew no sooner than after so long.
_RENEWED_MS: Final = 3_600_000
_LEFT: Final = (
    "This board is not kept current any more: this workspace lets nobody edit it. "
    "/signoff pending shows what is open now."
)
_NOT_EDITED: Final = (
    "this workspace lets nobody edit it, so that it is posted anew once an hour; /signoff pending "
    "shows what is open now"
)
_ROOM: Final = 2_800
_LONGEST_LINE: Final = 300
_FOOTER: Final = "Kept current by Signoff · every proposal has a card of its own"


def board_key(stood: str | None) -> str:
    """Return the key under which the successor of the board in `stood` is posted."""
    return f"board:{stood or ''}"


class SlackBoard:
    """Places the board in the channel, for `BoardKeeper`."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def place(self, board: Board, stood: str | None) -> str:
        """Edit the board where it stands, or post and pin it; return its ts."""
        text, blocks = escape(board.title), board_blocks(board)
        if stood is not None:
            try:
                await self._rest.edit(stood, text, blocks)
                return stood
            except CardGone:
                log.info("the board was deleted; a new one is posted")
            except EditRefused:
                await self._left(stood)
        ts = await self._rest.posted_before(board_key(stood))
        if ts is None:
            ts = await self._rest.post(board_key(stood), text, blocks)
        else:
            with contextlib.suppress(EditRefused):
                await self._rest.edit(ts, text, blocks)
        await self._rest.pin(ts)
        return ts

    async def stands(self, ts: str) -> bool:
        """Say whether the board's message is there; True if Slack cannot tell."""
        try:
            await self._rest.read(ts)
        except CardGone:
            return False
        except SurfaceFailed:
            return True
        return True

    async def _left(self, stood: str) -> None:
        """Say below a board that it is out of date; EditRefused if it is too new for another."""
        await self._rest.post(f"left:{stood}", _LEFT, thread_ts=stood)
        if self._rest.age_ms(stood) < _RENEWED_MS:
            raise EditRefused(_NOT_EDITED)
        await self._rest.unpin(stood)


def board_blocks(board: Board) -> list[Block]:
    """Return the board within Slack's limits."""
    return [header(board.title), *_groups(board), context(plain(_FOOTER))]


def _groups(board: Board) -> Iterator[Block]:
    for group in board.groups:
        words = f"{group.title}: {group.total}\n{_lines(group)}".strip()
        yield {"type": "section", "text": plain(words)}


def _lines(group: BoardGroup) -> str:
    return lines_that_fit(group, _line, lambda text: measure(text) <= _ROOM, "/signoff pending")


def _line(line: BoardLine) -> str:
    when = f" · {moment_words(line.at_ms)}" if line.at_ms is not None else ""
    text = line.text if len(line.text) <= _LONGEST_LINE else f"{line.text[:_LONGEST_LINE]}…"
    return f"{line.proposal_id} · {text}{when}"
