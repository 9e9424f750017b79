"""Tells where something was said: in the configured channel, in a thread of it, or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.chat.commands.typed import is_stop
from bot.chat.discord.rest import Rest
from bot.chat.hearing.left_behind import homes
from bot.chat.surface import SurfaceFailed

_MOST: Final = 4_096


class Places:
    """Knows the threads of the channel. About one that it does not know it asks Discord, once."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        #: By channel, of which channel it is a thread; None for none.
        self._threads: dict[str, int | None] = {}

    async def ours(self, payload: Mapping[str, Any]) -> bool:
        """Say whether a message stands in the configured channel or in a thread of it; for a stop,
        in the one that was configured when it was heard.

        Raises SurfaceFailed if Discord cannot tell now: a stop must not pass for a word elsewhere.
        """
        channel, stops = payload["channel"], is_stop(str(payload.get("text") or ""))
        ours = homes(str(self._rest.settings.channel), payload, stops=stops)
        if channel in ours:
            return True
        if payload.get("parent"):
            return payload["parent"] in ours
        moved = len(ours) > 1  # the channel of then may stand in another server
        if not moved and payload.get("guild", "") not in ("", str(self._rest.settings.guild)):
            return False
        if channel not in self._threads:
            try:
                self._threads[channel] = await self._rest.parent(int(channel))
            except SurfaceFailed as failure:
                if not failure.lasting:
                    raise
                return False  # Discord does not show it now
            while len(self._threads) > _MOST:
                self._threads.pop(next(iter(self._threads)))
        return str(self._threads[channel]) in ours
