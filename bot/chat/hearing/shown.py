"""Tells what a card showed when an event on it was given, or, if nobody knows that, heard.

The card may show more when the event is processed, and nobody decided on what came later. The inbox
keeps with the event, under its seal, what the card showed, when the event was heard and given, and
whose its account was (`owners.py`). `as_heard` and `with_shown` write that as the event is taken,
`as_it_showed` hands it to the code that processes the event, and it is dropped with the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from bot.chat.hearing.event_ids import approved_on
from bot.chat.hearing.known import shown_at
from bot.chat.hearing.owners import as_they_were, with_owners
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World

#: The key of a kept event for the version that its card showed.
_KEY: Final = "shown_version"
#: The key for when an event was given at the soonest, ms UTC: a platform may tell of it much later.
GIVEN_MS: Final = "given_ms"
#: The key for when an event was heard, ms UTC.
HEARD_MS: Final = "heard_ms"
#: The version of an event on a message that no row knew as a card yet.
_NO_CARD_YET: Final = "?"
_SHOWN: ContextVar[int | str | None] = ContextVar("shown_version", default=None)
_HEARD: ContextVar[int | None] = ContextVar("heard_ms", default=None)


def with_shown(
    tx: Transaction, surface: str, lane: str, payload: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an event with what its card shows by now, or showed when it was given if the event
    tells that; as it is if its lane is not one in which ✅ wait."""
    message_id, given_ms = approved_on(lane), payload.get(GIVEN_MS)
    if message_id is None:
        return dict(payload)
    card = tx.cards.find(surface, message_id)
    if card is None:
        return {**payload, _KEY: _NO_CARD_YET}
    shown = card.shown_version if given_ms is None else shown_at(card, given_ms)
    return {**payload, _KEY: shown}


def as_heard(world: World, surface: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with when it was heard, which is now, and the owners of its account then, or
    when it was given at the soonest. What the event tells already stays."""
    now_ms, given_ms = world.clock.now_ms(), payload.get(GIVEN_MS)
    since_ms = now_ms if given_ms is None else int(given_ms)
    return with_owners(world, surface, {HEARD_MS: now_ms, **payload}, since_ms)


@contextmanager
def as_it_showed(payload: Mapping[str, Any]) -> Iterator[None]:
    """Process an event, within this context, for what its card showed, what stood and whose its
    account was when it was heard."""
    shown, heard = _SHOWN.set(payload.get(_KEY)), _HEARD.set(payload.get(HEARD_MS))
    try:
        with as_they_were(payload):
            yield
    finally:
        _SHOWN.reset(shown)
        _HEARD.reset(heard)


def when_heard() -> int | None:
    """Return when the event being processed was heard, ms UTC; None outside of an inbox."""
    return _HEARD.get()


def shown_when_heard(card: Card) -> int | None:
    """Return which version the card of the event being processed showed then, None for unknown.

    A card that was not written down yet showed what was posted: it may have been edited since.
    """
    shown = _SHOWN.get()
    return shown_at(card, 0) if isinstance(shown, str) else shown
