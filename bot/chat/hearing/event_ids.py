"""Makes and reads the event ids of emoji on cards: by them a review tells where it was given.

They are kept for good with the review and its entry in the trail, and for a day among what was
heard (`first_time`), so that each act is carried out once. An account may change hands: code that
finds an emoji adds its owner if another owner may have done as many acts by that account.
"""

from __future__ import annotations

from typing import Final

from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender

_BY: Final = "by"
_FOUND: Final = "found"
_GONE: Final = "gone"


def card_lane(message_id: str, signal: Signal, who: str) -> str:
    """Return the lane of a signal on a card. All ✅ of a card share a lane, and may have to wait; a
    ❌ stands behind none of them, nor behind anybody else's ❌."""
    return f"x:{message_id}:{who}" if signal is Signal.STOP else f"m:{message_id}"


def approved_on(lane: str) -> str | None:
    """Return the message of a lane in which ✅ wait, None if it is another lane."""
    return lane[2:] if lane.startswith("m:") else None


def card_event(message_id: str, account: str, event_id: str) -> str:
    """Return the event id of an emoji that was heard: a review then tells on which message, and by
    which account, it was given."""
    return f"{on_card(message_id)}{_BY}:{account}:{event_id}"


def on_card(message_id: str) -> str:
    """Return how the event ids of all emoji on this message begin."""
    return f"card:{message_id}:"


def late_event(message_id: str, sender: Sender, signal: Signal, turn: int | str) -> str:
    """Return the event id of an emoji found on a card; `turn` is which act it is (`acted.py`)."""
    return f"{on_card(message_id)}{_FOUND}:{sender.account}:{signal.name}:{turn}"


def gone_event(message_id: str, account: str, turn: int, person: str) -> str:
    """Return the event id of a ✅ that is found gone from its card; `turn` is how many reviews this
    person has given. The account may have been another person's before, with as many."""
    return f"{on_card(message_id)}{_GONE}:{account}:{turn}:{person}"


def given_by(message_id: str, event_id: str | None) -> str | None:
    """Return the account that gave the emoji of an event on this message, None for other events."""
    how, account = _told(message_id, event_id)
    return account if how in (_BY, _FOUND) else None


def taken_off_by(message_id: str, event_id: str | None) -> str | None:
    """Return the account whose ✅ on this message was taken off, or found gone, in an event; None
    for other events."""
    how, account = _told(message_id, event_id)
    return account if how in (_BY, _GONE) else None


def _told(message_id: str, event_id: str | None) -> tuple[str, str]:
    here = on_card(message_id)
    if event_id is None or not event_id.startswith(here):
        return "", ""
    how, _, told = event_id.removeprefix(here).partition(":")
    return how, told.partition(":")[0]
