"""Tells what a ❌, a removed ✅ or a typed command is a stop of.

Until a stop is processed, what it is about may not begin, commit or close; one that only takes back
holds what has not begun. Surfaces ask this when an event comes, before it is stored.
"""

from __future__ import annotations

from typing import NamedTuple

from bot.chat.commands.typed import STOPS, bare_id, split_id, typed
from bot.chat.hearing.signals import Signal


class StopOf(NamedTuple):
    """What a stop is about: a proposal, by its id or by a message that may be its card; everything
    if neither is given.

    `takes_back` says that it takes back a ✅, or the proposal: it does not hold what needs neither
    any more.
    """

    proposal_id: str | None = None
    message_id: str | None = None
    takes_back: bool = False


def stop_on(message_id: str, signal: Signal) -> StopOf | None:
    """Return what a button of a message is a stop of, None if it is no stop."""
    return StopOf(message_id=message_id) if signal is Signal.STOP else None


def stop_by(message_id: str, signal: Signal, *, added: bool) -> StopOf | None:
    """Return what an emoji that was given or taken off is a stop of, None if it is no stop.

    The removal of a ✅ is a stop until it is processed: the ✅ itself may still wait for its turn,
    and must not then open anything, which nobody could take back.
    """
    if not message_id or added is not (signal is Signal.STOP):
        return None
    return StopOf(message_id=message_id, takes_back=not added)


def stop_typed(text: str) -> StopOf | None:
    """Return what a command is a stop of, None if it is no stop. A freeze, which needs a reason, is
    about everything; a withdrawal takes back that its proposal may begin."""
    word, rest = typed(text)
    if word == "freeze":
        return StopOf() if rest.strip() else None
    named = split_id(rest)[0]
    if not named:
        return None
    if word == "withdraw":
        return StopOf(proposal_id=named, takes_back=True)
    return StopOf(proposal_id=bare_id(named)) if word in STOPS else None
