"""Remembers copies of channel messages that people forward.

Decisions on a copy are so told apart from emoji on what people say.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

_MOST: Final = 1_024


class Copies:
    """Which message is a copy of which. An aid: after a restart a copy is what somebody said."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, str] = OrderedDict()

    def note(self, message_id: str, original_id: str | None) -> None:
        """Note a copy, whoever made it and wherever; `original_id` is None for what is no copy."""
        if original_id is not None:
            self._of[message_id] = original_id
        while len(self._of) > _MOST:
            self._of.popitem(last=False)

    def original(self, message_id: str) -> str | None:
        """Return which message of the channel this one is a copy of, None for none."""
        return self._of.get(message_id)
