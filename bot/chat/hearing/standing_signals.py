"""Remembers which signals stand on which message, so that none is processed twice (Discord)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from bot.chat.hearing.signals import Signal

_MOST_MESSAGES: Final = 4_096

_Key = tuple[str, Signal, str]


class StandingSignals:
    """The signals that were heard and not taken off again. An aid: the truth is in the store."""

    def __init__(self) -> None:
        self._on: OrderedDict[str, set[_Key]] = OrderedDict()

    def add(self, message_id: str, account: str, signal: Signal, variant: str) -> bool:
        """Note a signal; return False if it stood already."""
        on = self._on.setdefault(message_id, set())
        self._on.move_to_end(message_id)
        while len(self._on) > _MOST_MESSAGES:
            self._on.popitem(last=False)
        key = (account, signal, variant)
        if key in on:
            return False
        on.add(key)
        return True

    def drop(self, message_id: str, account: str, signal: Signal, variant: str) -> bool:
        """Note that a signal was taken off; return True if another variant of it still stands."""
        on = self._on.get(message_id, set())
        on.discard((account, signal, variant))
        return any(key[:2] == (account, signal) for key in on)

    def clear(self, message_id: str, signal: Signal | None) -> None:
        """Note that all signals, or all of one kind, were taken off a message."""
        on = self._on.get(message_id, set())
        on -= {key for key in on if signal in (None, key[1])}

    def forget(self) -> None:
        """Forget everything: something may have been missed."""
        self._on.clear()
