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
        self._unkept: dict[tuple[str, str], None] = {}

    def heard(self, payload: Mapping[str, Any]) -> None:
        """Note at once that a ✅ was taken off: a list that was read before still names it."""
        if payload["signal"] != Signal.APPROVE.name:
            return
        key = (payload["message"], payload["user"])
        if payload["added"]:
            self._unkept.pop(key, None)
            return
        self._at_ms.pop(key, None)
        self._at_ms[key] = self._now_ms()
        while len(self._at_ms) > _MOST:
            self._at_ms.pop(next(iter(self._at_ms)))

    def since(self, message_id: str, accounts: Collection[str], asked_ms: int) -> set[str]:
        """Return who was heard taking a ✅ off since then."""
        never = asked_ms - 1
        return {each for each in accounts if self._at_ms.get((message_id, each), never) >= asked_ms}

    def not_kept(self, payload: Mapping[str, Any]) -> None:
        """Note that what was heard could not be stored: where it took a ✅ off, it does not wait
        behind that ✅ to take it back."""
        if payload["kind"] != "reaction" or payload["added"]:
            return
        if payload["signal"] == Signal.APPROVE.name:
            self._unkept[payload["message"], payload["user"]] = None
            while len(self._unkept) > _MOST:
                self._unkept.pop(next(iter(self._unkept)))

    def unkept(self, message_id: str, account: str) -> bool:
        """Say whether that is so of their ✅, and they were not heard giving it again since."""
        return (message_id, account) in self._unkept

    def waits(self, message_id: str, account: str, heard_ms: int) -> bool:
        """Say whether what was heard since then took their ✅ off, and waits behind it."""
        gone = self.since(message_id, (account,), heard_ms)
        return bool(gone) and not self.unkept(message_id, account)
