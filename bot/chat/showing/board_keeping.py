"""Keeps a surface's board current: builds it every two seconds, and has it placed if changed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from bot.chat.showing.board import Board, board_of
from bot.chat.surface import SurfaceFailed
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

_LOOK_S: Final = 2.0
#: If nothing changes on a board, its message is looked for again after so long: nobody may have
#: heard that it was deleted.
_LOOKED_FOR_MS: Final = 180_000
#: So many deleted messages are remembered while the board is placed: it may be one of them.
_MOST_GONE: Final = 1_000
_LONGEST_PAUSE_S: Final = 60.0

#: Shows a board in the message in which it stood (None: in none) and returns its message now.
Place = Callable[[Board, str | None], Awaitable[str]]
#: Says whether the board's message is still there; True if the platform cannot tell.
Stands = Callable[[str], Awaitable[bool]]


def stands_in(tx: Transaction, flag: str) -> str | None:
    """Return the message in which the board of a surface stands, None if no row says so. A view."""
    stood = tx.flags.get(flag)
    return stood if isinstance(stood, str) else None


class BoardKeeper:
    """Keeps the board of one surface; a flag in the store keeps its message id across restarts.

    `place` shows a board, `look_s` is the pause between two looks, in seconds. Without `stands`
    (Discord) the message is never looked for: the surface calls `lost` instead.
    """

    def __init__(
        self,
        world: World,
        surface: str,
        place: Place,
        look_s: float = _LOOK_S,
        *,
        stands: Stands | None = None,
    ) -> None:
        self._world = world
        self._flag = f"board:{surface}"
        self._place = place
        self._stands = stands
        self._look_s = look_s
        self._looked_for_ms = 0
        self._gone: deque[str] = deque(maxlen=_MOST_GONE)
        self._shown: Board | None = None
        self._stood: str | None = None
        self._lost = 0
        self._wiped = 0
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
                pause_s = min(_LONGEST_PAUSE_S, failure.retry_after_s or pause_s * 2)
            except StoreUnavailable:
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            except Exception as error:
                log.error("%s: %s", self._flag, located(error))
                self.trouble = f"an unexpected {type(error).__name__}"
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            await self._rest(pause_s)

    async def _rest(self, pause_s: float) -> None:
        """Wait for `pause_s`, or until `lost` says that the board may be gone.

        Each time somebody wipes the board, the pause before the next attempt grows. The platform
        reports the bot's own edit of a wiped message as another wipe, so without the pause each
        answer would bring the next.
        """
        try:
            async with asyncio.timeout(pause_s):
                await self._looked_for.wait()
        except TimeoutError:
            self._wiped = 0
        self._looked_for.clear()
        if self._wiped > 1:
            await asyncio.sleep(min(_LONGEST_PAUSE_S, 2.0 ** min(self._wiped - 1, 10) - 1))

    async def show(self) -> None:
        """Place the board if it differs from what was shown last, or if its message is gone.

        Raises SurfaceFailed, StoreUnavailable.
        """
        now_ms = self._world.clock.now_ms()
        board, stood = await self._world.store.read(
            lambda tx: (board_of(tx, now_ms), stands_in(tx, self._flag))
        )
        if board == self._shown and (stood is None or await self._still(stood, now_ms)):
            return
        lost = self._lost
        self._gone.clear()
        placed = await self._place(board, stood)
        self._stood, self._looked_for_ms = placed, now_ms
        if placed != stood:
            await self._world.store.write(lambda tx: tx.flags.put(self._flag, placed))
        self._shown = board if lost == self._lost else None
        if lost == self._lost and placed in self._gone:
            self.lost((placed,))  # its deletion was heard before its id was known to be the board's

    async def _still(self, stood: str, now_ms: int) -> bool:
        """Say whether the board's message stands; the platform is asked every three minutes."""
        if self._stands is None or now_ms - self._looked_for_ms < _LOOKED_FOR_MS:
            return True
        self._looked_for_ms = now_ms
        return await self._stands(stood)

    def lost(self, message_ids: Collection[str] | None = None) -> None:
        """Show the board again, unless `message_ids` went and it is none of them."""
        self._gone.extend(message_ids or ())
        if message_ids is not None and self._stood not in message_ids:
            return
        self._wiped = 0 if message_ids is None else self._wiped + 1
        self._shown, self._lost = None, self._lost + 1
        self._looked_for.set()
