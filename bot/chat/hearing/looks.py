"""Looks at messages of ours on which somebody decided although they are no card that is known."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from lifecycle.ports import Clock

#: What a look has found counts as true for this long.
_TRUE_FOR_MS: Final = 600_000
#: One account may cause this many looks in that time: anybody can react, and cards are read through
#: the same narrow door.
_MOST_OF_ONE: Final = 5
_MOST: Final = 4_096


class Looks:
    """Asks the platform whether a message looks like a card: once a message, few times for one
    account. The answer serves only a note to a person; nothing is decided by it."""

    def __init__(self, clock: Clock, look: Callable[[str], Awaitable[str | None]]) -> None:
        """`look` returns which proposal's card a message is, None for none; what it raises passes
        through."""
        self._clock = clock
        self._look = look
        self._lock = asyncio.Lock()
        self._found: OrderedDict[str, tuple[int, str | None]] = OrderedDict()
        self._asked: OrderedDict[str, deque[int]] = OrderedDict()

    async def card_in(self, message_id: str, account: str) -> str | None:
        """Return which proposal's card the message is; None if it is none, or if this account has
        made the bot look too often."""
        async with self._lock:
            now_ms = self._clock.now_ms()
            at_ms, proposal_id = self._found.get(message_id, (now_ms - _TRUE_FOR_MS, None))
            if now_ms - at_ms < _TRUE_FOR_MS:
                return proposal_id
            if not self._may(account, now_ms):
                return None
            proposal_id = await self._look(message_id)
            self._found[message_id] = (now_ms, proposal_id)
            self._found.move_to_end(message_id)
            _shorten(self._found)
            return proposal_id

    def _may(self, account: str, now_ms: int) -> bool:
        asked = self._asked.setdefault(account, deque(maxlen=_MOST_OF_ONE))
        self._asked.move_to_end(account)
        _shorten(self._asked)
        if len(asked) == _MOST_OF_ONE and now_ms - asked[0] < _TRUE_FOR_MS:
            return False
        asked.append(now_ms)
        return True


def _shorten(kept: OrderedDict[str, Any]) -> None:
    while len(kept) > _MOST:
        kept.popitem(last=False)
