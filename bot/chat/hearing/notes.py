"""Limits notes to people whose attempt had no effect: one each, not a shower (design section 6)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from lifecycle.answers import Reply
from lifecycle.ports import Clock
from lifecycle.state import TERMINAL

#: To whoever makes a command of a message, or another one, by an edit.
EDITED: Final = "Edits change nothing: only what a message says at first is read. Write a new one."
_SILENT_MS: Final = 600_000
_MOST: Final = 4_096


class Notes:
    """Remembers what was said to whom, so that it is said once in ten minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: OrderedDict[tuple[str, ...], int] = OrderedDict()

    def first(self, account: str, *about: str) -> bool:
        """Return whether this is new to the account, and remember that it was told."""
        key, now_ms = (account, *about), self._clock.now_ms()
        said_ms = self._said.get(key)
        if said_ms is not None and now_ms - said_ms < _SILENT_MS:
            return False
        self._said[key] = now_ms
        self._said.move_to_end(key)
        while len(self._said) > _MOST:
            self._said.popitem(last=False)
        return True

    def first_on(self, message_id: str, account: str, reply: Reply) -> bool:
        """Return the same for the answer to what somebody did on a message.

        That a proposal has ended is told once, whichever signal was given; that a card is unknown,
        once for all such cards.
        """
        if reply.code == "unknown_proposal":
            return self.first(account, "", reply.code)
        over = reply.state is not None and reply.state in TERMINAL
        return self.first(account, message_id, "over" if over else reply.code or "")
