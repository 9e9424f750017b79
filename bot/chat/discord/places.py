"""Tells where something was said: in the configured channel, in a thread of it, or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.chat.discord.rest import Rest
from bot.chat.surface import SurfaceFailed

_MOST: Final = 4_096


class Places:
    """Knows the threads of the channel. About one that it does not know it asks Discord, once."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._threads: dict[str, bool] = {}

    async def ours(self, payload: Mapping[str, Any]) -> bool:
        """Say whether a message stands in the configured channel or in a thread of it.

        Raises SurfaceFailed if Discord cannot tell now: a stop must not pass for a word elsewhere.
        """
        channel, ours = payload["channel"], str(self._rest.settings.channel)
        if channel == ours:
            return True
        if payload.get("parent"):
            return bool(payload["parent"] == ours)
        if payload.get("guild", "") not in ("", str(self._rest.settings.guild)):
            return False
        if channel not in self._threads:
            found = await self._looked_at(int(channel))
            if found is None:
                return False
            self._threads[channel] = found
            while len(self._threads) > _MOST:
                self._threads.pop(next(iter(self._threads)))
        return self._threads[channel]

    async def _looked_at(self, channel: int) -> bool | None:
        """Say whether a channel is a thread of ours; None if Discord does not show it now."""
        try:
            return await self._rest.parent(channel) == self._rest.settings.channel
        except SurfaceFailed as failure:
            if not failure.lasting:
                raise
            return None
