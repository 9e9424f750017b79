"""Event ids of emoji on cards: a review says by them on which message it was given."""

from __future__ import annotations

from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender


def card_lane(message_id: str, signal: Signal, who: str) -> str:
    """Return the lane of a signal on a card: a ✅ may have to wait, and no ❌ stands behind it, nor
    behind anybody else's."""
    return f"x:{message_id}:{who}" if signal is Signal.STOP else f"m:{message_id}"


def approved_on(lane: str) -> str | None:
    """Return the message of a lane in which a ✅ waits; None where it is another lane."""
    return lane[2:] if lane.startswith("m:") else None


def card_event(message_id: str, event_id: str) -> str:
    """Return the event id of an emoji on a card, so that a review says where it was given."""
    return f"{on_card(message_id)}{event_id}"


def on_card(message_id: str) -> str:
    """Return how the event ids of all emoji on this message begin."""
    return f"card:{message_id}:"


def late_event(message_id: str, sender: Sender, signal: Signal, turn: int | str) -> str:
    """Return the event id of an emoji that is found on a card; `turn` counts this person's acts."""
    return card_event(message_id, f"found:{sender.account}:{signal.name}:{turn}")


def gone_event(message_id: str, account: str, turn: int) -> str:
    """Return the event id of a ✅ that is found gone from its card; `turn` as in `late_event`."""
    return card_event(message_id, f"gone:{account}:{turn}")
