"""Remembers whose ✅ was taken off, from the moment that is heard, which is before it is processed.

A ✅ and a super ✅ of one account are two: taking one off leaves the other. Slack has no twin:
there the card is read for every ✅.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from bot.chat.hearing.signals import Signal

#: So many removals are remembered.
_MOST: Final = 4_096


#: The message, the account, and which of Discord's two lists the ✅ stood in.
_Key = tuple[str, str, str]


class TakenOff:
    """When a ✅ was last heard taken off, by message, account and variant (list)."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._at_ms: dict[_Key, int] = {}
        self._unkept: dict[_Key, None] = {}

    def heard(self, payload: Mapping[str, Any]) -> None:
        """Note at once that a ✅ was taken off: a list read before that still names its giver."""
        if payload["signal"] != Signal.APPROVE.name:
            return
        key = _key(payload)
        if payload["added"]:
            self._unkept.pop(key, None)
            return
        self._at_ms.pop(key, None)
        self._at_ms[key] = self._now_ms()
        while len(self._at_ms) > _MOST:
            self._at_ms.pop(next(iter(self._at_ms)))

    def since(
        self, message_id: str, accounts: Collection[str], asked_ms: int, variant: str
    ) -> set[str]:
        """Return who was heard taking a ✅ of this variant off, at `asked_ms` or later."""
        off_ms = ((each, self._at_ms.get((message_id, each, variant))) for each in accounts)
        return {each for each, at_ms in off_ms if at_ms is not None and at_ms >= asked_ms}

    def before(self, payload: Mapping[str, Any], since_ms: int) -> bool:
        """Say whether a ✅ was given after its giver was heard taking it off, since `since_ms`."""
        message_id, user, variant = _key(payload)
        return bool(payload["added"] and self.since(message_id, (user,), since_ms, variant))

    def left_there(
        self, message_id: str, lists: Mapping[str, frozenset[str]], asked_ms: int
    ) -> frozenset[str]:
        """Return who stands in one of these lists, which were asked for at `asked_ms`, and was not
        heard taking that ✅ off since. `lists` maps a variant to accounts."""
        there = (
            accounts - self.since(message_id, accounts, asked_ms, variant)
            for variant, accounts in lists.items()
        )
        return frozenset().union(*there)

    def not_kept(self, payload: Mapping[str, Any]) -> None:
        """Note that an event could not be stored. If it took a ✅ off, no stored event waits behind
        that ✅ to take it back."""
        if payload["kind"] != "reaction" or payload["added"]:
            return
        if payload["signal"] == Signal.APPROVE.name:
            self._unkept[_key(payload)] = None
            while len(self._unkept) > _MOST:
                self._unkept.pop(next(iter(self._unkept)))

    def unkept(self, message_id: str, account: str, variant: str) -> bool:
        """Say whether that is so of this ✅, and it was not heard given again since."""
        return (message_id, account, variant) in self._unkept

    def waits(self, message_id: str, account: str, heard_ms: int, variant: str) -> bool:
        """Say whether a stored event, heard since `heard_ms`, took this ✅ off and waits."""
        gone = self.since(message_id, (account,), heard_ms, variant)
        return bool(gone) and not self.unkept(message_id, account, variant)


def _key(payload: Mapping[str, Any]) -> _Key:
    return payload["message"], payload["user"], payload["variant"]
