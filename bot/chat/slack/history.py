"""Finds posts that may stand in the channel although nobody knows where.

Slack has no idempotency key, so a post is looked for by the key in its metadata before it is posted
again. Twin: `discord/history.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final

from bot.chat.slack.calls import SlackWeb
from bot.chat.slack.shapes import whole
from lifecycle.ports import Clock

_LOOK_BACK_MS: Final = 172_800_000
#: The known difference to Slack's clock, and our clock before a restart, may be wrong by so much.
_CLOCKS_APART_MS: Final = 3_600_000
_PAGES: Final = 5
_PAGE: Final = 200
_MOST: Final = 5_000


class StandingPosts:
    """Knows by key since when (ms UTC) a post may stand.

    Each post of this process is looked for by itself. A former process may have posted many, and
    Slack allows some fifty looks a minute, so the channel is looked through once for all of those.
    """

    def __init__(self, web: SlackWeb, channel: str, clock: Clock) -> None:
        self.me = ""
        self._web = web
        self._channel = channel
        self._clock = clock
        self._since_ms: dict[str, int] = {}
        self._former_ms: dict[str, int] = {}
        self._stood: dict[str, str] | None = None
        self._looking = asyncio.Lock()

    def doubt(self, keys: Iterable[str], since_ms: int) -> None:
        """Note that a former process may have posted these keys since then."""
        self._former_ms |= dict.fromkeys(keys, since_ms)
        self._stood = None

    def posting(self, key: str) -> None:
        """Note that a key is being posted: it is in doubt until its ts is written down."""
        self._since_ms[key] = self._clock.now_ms()
        while len(self._since_ms) > _MOST:
            self._since_ms.pop(next(iter(self._since_ms)))

    def not_posted(self, key: str) -> None:
        """Note that a key is known not to stand."""
        self._since_ms.pop(key, None)
        self._former_ms.pop(key, None)

    async def of(self, key: str, thread_ts: str | None) -> str | None:
        """Return the ts of a key in doubt; None if it is to be posted. Raises SurfaceFailed."""
        former_ms = self._former_ms.get(key)
        if former_ms is not None and key not in self._since_ms:
            if thread_ts is None and (await self._all_that_stood()).get(key) is None:
                self.not_posted(key)
                return None
            # It may have been deleted since that look: from now on it is looked for by itself.
            self._since_ms[key] = former_ms
        since_ms = self._since_ms.get(key)
        if since_ms is None:
            return None
        async for keys in self._looked_through(since_ms, thread_ts):
            if key in keys:
                return keys[key]
        self.not_posted(key)
        return None

    async def _all_that_stood(self) -> Mapping[str, str]:
        async with self._looking:
            if self._stood is None:
                stood: dict[str, str] = {}
                async for keys in self._looked_through(
                    min(self._former_ms.values(), default=0), None
                ):
                    stood = keys | stood
                self._stood = stood
            return self._stood

    async def _looked_through(
        self, since_ms: int, thread_ts: str | None
    ) -> AsyncIterator[dict[str, str]]:
        """Yield, page by page, the ts by key of our posts in the channel or in a thread."""
        method = "conversations.replies" if thread_ts else "conversations.history"
        oldest_ms = max(self._clock.now_ms() - _LOOK_BACK_MS, since_ms - _CLOCKS_APART_MS)
        oldest_ms = max(0, self._web.clocks.slacks(oldest_ms))
        arguments: dict[str, Any] = {
            "channel": self._channel,
            "include_all_metadata": True,
            "limit": _PAGE,
            "oldest": f"{oldest_ms // 1000}.000000",
        }
        if thread_ts:
            arguments["ts"] = thread_ts
        for _ in range(_PAGES):
            answer = await self._web.call(method, **arguments)
            yield dict(reversed(list(self._ours(answer.get("messages") or ()))))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
            arguments["cursor"] = cursor

    def _ours(self, messages: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
        for message in messages:
            if message.get("user") != self.me:
                continue
            payload = (whole(message).get("metadata") or {}).get("event_payload") or {}
            if payload.get("key"):
                yield str(payload["key"]), str(message["ts"])
