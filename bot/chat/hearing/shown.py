"""What a card showed when something that was done on it was given, or else heard: it may show more
when that is worked, and nobody decided on what came after it.

The inbox keeps it with the event, under its seal: what the card showed, when the event was heard
and given, and whose its account was (`owners.py`). `as_heard` and `with_shown` write it as the
event is taken, `as_it_showed` hands it to whoever works the event, and it is dropped with the
event.
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

#: Where an event that is kept tells it.
_KEY: Final = "shown_version"
#: Where an event tells when it was given at the soonest: a platform may tell of it much later.
GIVEN_MS: Final = "given_ms"
#: When an event was heard.
HEARD_MS: Final = "heard_ms"
#: What an event tells that was heard on a message which no row knew as a card yet.
_NO_CARD_YET: Final = "?"
_SHOWN: ContextVar[int | str | None] = ContextVar("shown_version", default=None)
_HEARD: ContextVar[int | None] = ContextVar("heard_ms", default=None)


def with_shown(
    tx: Transaction, surface: str, lane: str, payload: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the event of a lane with what its card shows by now, or showed when it was given
    where the event tells that; as it is where it is of no message."""
    message_id, given_ms = approved_on(lane), payload.get(GIVEN_MS)
    if message_id is None:
        return dict(payload)
    card = tx.cards.find(surface, message_id)
    if card is None:
        return {**payload, _KEY: _NO_CARD_YET}
    shown = card.shown_version if given_ms is None else shown_at(card, given_ms)
    return {**payload, _KEY: shown}


def as_heard(world: World, surface: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with when it was heard, which is now, and whose account it came from then,
    or when it was given at the soonest; as it is where it tells that already."""
    now_ms, given_ms = world.clock.now_ms(), payload.get(GIVEN_MS)
    since_ms = now_ms if given_ms is None else int(given_ms)
    return with_owners(world, surface, {HEARD_MS: now_ms, **payload}, since_ms)


@contextmanager
def as_it_showed(payload: Mapping[str, Any]) -> Iterator[None]:
    """Work an event for what its card showed, what stood and whose its account was, when it was
    heard."""
    shown, heard = _SHOWN.set(payload.get(_KEY)), _HEARD.set(payload.get(HEARD_MS))
    try:
        with as_they_were(payload):
            yield
    finally:
        _SHOWN.reset(shown)
        _HEARD.reset(heard)


def when_heard() -> int | None:
    """Return when the event that is worked was heard, ms UTC; None outside of an inbox."""
    return _HEARD.get()


def shown_when_heard(card: Card) -> int | None:
    """Return which version the card of the event that is worked showed then, None for unknown.

    One that was not written down yet showed what was posted: it may have been edited since.
    """
    shown = _SHOWN.get()
    return shown_at(card, 0) if isinstance(shown, str) else shown
