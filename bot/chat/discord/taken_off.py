"""Whose ✅ was taken off: noted when it is heard, which is before it is worked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from bot.chat.hearing.signals import Signal

#: Of so many messages it is remembered when a ✅ was last taken off them.
_MOST: Final = 4_096


class TakenOff:
    """When that was, by message and account."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._at_ms: dict[tuple[str, str], int] = {}

    def heard(self, payload: Mapping[str, Any]) -> None:
        """Note at once that a ✅ was taken off: a list that was read before still names it."""
        if payload["added"] or payload["signal"] != Signal.APPROVE.name:
            return
        key = (payload["message"], payload["user"])
        self._at_ms.pop(key, None)
        self._at_ms[key] = self._now_ms()
        while len(self._at_ms) > _MOST:
            self._at_ms.pop(next(iter(self._at_ms)))

    def since(self, message_id: str, accounts: Collection[str], asked_ms: int) -> set[str]:
        """Return who was heard taking a ✅ off since then."""
        never = asked_ms - 1
        return {each for each in accounts if self._at_ms.get((message_id, each), never) >= asked_ms}
