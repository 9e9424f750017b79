"""Event ids of emoji on cards: a review says by them on which message it was given.

They are kept with the review and its entry in the trail for good, and for a day among what was
heard (`first_time`), so that each act is done once. An account may change hands: whoever finds an
emoji adds whose it is, where somebody else may have done as much by that account.
"""

from __future__ import annotations

from typing import Final

from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender

_BY: Final = "by"
_FOUND: Final = "found"
_GONE: Final = "gone"


def card_lane(message_id: str, signal: Signal, who: str) -> str:
    """Return the lane of a signal on a card: a ✅ may have to wait, and no ❌ stands behind it, nor
    behind anybody else's."""
    return f"x:{message_id}:{who}" if signal is Signal.STOP else f"m:{message_id}"


def approved_on(lane: str) -> str | None:
    """Return the message of a lane in which a ✅ waits; None where it is another lane."""
    return lane[2:] if lane.startswith("m:") else None


def card_event(message_id: str, account: str, event_id: str) -> str:
    """Return the event id of an emoji on a card, so that a review says where it was given, and by
    which account."""
    return f"{on_card(message_id)}{_BY}:{account}:{event_id}"


def on_card(message_id: str) -> str:
    """Return how the event ids of all emoji on this message begin."""
    return f"card:{message_id}:"


def late_event(message_id: str, sender: Sender, signal: Signal, turn: int | str) -> str:
    """Return the event id of an emoji that is found on a card; `turn` counts this person's acts."""
    return f"{on_card(message_id)}{_FOUND}:{sender.account}:{signal.name}:{turn}"


def gone_event(message_id: str, account: str, turn: int, person: str) -> str:
    """Return the event id of a ✅ that is found gone from its card; `turn` as in `late_event`. The
    account may have been another person's before, with as many acts."""
    return f"{on_card(message_id)}{_GONE}:{account}:{turn}:{person}"


def given_by(message_id: str, event_id: str | None) -> str | None:
    """Return the account whose emoji on this message an event was, None where it says none."""
    how, account = _told(message_id, event_id)
    return account if how in (_BY, _FOUND) else None


def taken_off_by(message_id: str, event_id: str | None) -> str | None:
    """Return the account whose ✅ on this message was taken off, or found gone, by an event; None
    where it was of none."""
    how, account = _told(message_id, event_id)
    return account if how in (_BY, _GONE) else None


def _told(message_id: str, event_id: str | None) -> tuple[str, str]:
    here = on_card(message_id)
    if event_id is None or not event_id.startswith(here):
        return "", ""
    how, _, told = event_id.removeprefix(here).partition(":")
    return how, told.partition(":")[0]
