"""Keeps the board current: looks what it should say, and has it placed where that changed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from bot.chat.showing.board import Board, board_of
from bot.chat.surface import SurfaceFailed
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable
from lifecycle.world import World

log = logging.getLogger("signoff.surfaces")

_LOOK_S: Final = 2.0
#: A board of which nothing changes is looked for again after so long: that it was deleted may have
#: been heard by nobody.
_LOOKED_FOR_MS: Final = 180_000
#: So many messages are remembered that went while the board was placed: it may be one of them.
_MOST_GONE: Final = 1_000
_LONGEST_PAUSE_S: Final = 60.0

#: Shows a board in the message it stood in (None: nowhere yet) and returns where it stands now.
Place = Callable[[Board, str | None], Awaitable[str]]
#: Says whether the message in which a board stood is there; True where that cannot be looked at.
Stands = Callable[[str], Awaitable[bool]]


class BoardKeeper:
    """The board of one surface; where it stands is remembered across restarts."""

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
        """Wait until it is time to look again, or there is a reason to.

        Whoever wipes the board again and again is answered ever slower: a platform that shows
        nothing of it says so of every edit, and each answer would bring the next.
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
        """Show the board as it stands now, where that is not what is shown already."""
        now_ms = self._world.clock.now_ms()
        board, stood = await self._world.store.read(
            lambda tx: (board_of(tx, now_ms), tx.flags.get(self._flag))
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
            self.lost((placed,))  # which was heard before anybody knew that it was the board

    async def _still(self, stood: str, now_ms: int) -> bool:
        """Say whether the board stands where it was placed, as far as is looked for now."""
        if self._stands is None or now_ms - self._looked_for_ms < _LOOKED_FOR_MS:
            return True
        self._looked_for_ms = now_ms
        return await self._stands(stood)

    def lost(self, message_ids: Collection[str] | None = None) -> None:
        """The board may be gone: show it again. Where `message_ids` went, only if it is one."""
        self._gone.extend(message_ids or ())
        if message_ids is not None and self._stood not in message_ids:
            return
        self._wiped = 0 if message_ids is None else self._wiped + 1
        self._shown, self._lost = None, self._lost + 1
        self._looked_for.set()
