"""Defines which emoji stands for which decision, on every platform (design section 6).

An emoji is compared whole. One with an id of its own is never a signal, whatever its name.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

_VARIATION: Final = "\ufe0f"
_TONE: Final = "::skin-tone-"


class Signal(Enum):
    """An emoji that stands for a decision: the character, and Slack's name for it."""

    APPROVE = ("✅", "white_check_mark")
    STOP = ("❌", "x")

    @property
    def character(self) -> str:
        """The character that is sent to platforms which take characters."""
        return self.value[0]

    @property
    def slack_name(self) -> str:
        """The name that is sent to Slack."""
        return self.value[1]


#: What the bot puts under a card, in this order.
SEEDS: Final = (Signal.APPROVE, Signal.STOP)


def of_character(emoji: str, custom_id: object = None) -> Signal | None:
    """Return what an emoji character means, None if it means nothing.

    A variation selector is encoding noise; a `custom_id` says that somebody drew it themselves.
    """
    if custom_id is not None:
        return None
    bare = emoji.replace(_VARIATION, "")
    return next((signal for signal in Signal if signal.character == bare), None)


def of_slack_name(name: str) -> Signal | None:
    """Return what a Slack reaction's name means, its skin tone removed; None for nothing."""
    base, tone, level = name.partition(_TONE)
    if tone and level not in ("2", "3", "4", "5", "6"):
        return None
    return next((signal for signal in Signal if signal.slack_name == base), None)
