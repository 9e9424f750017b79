"""Of what something that was heard is a stop: nothing of that is made final before it is worked."""

from __future__ import annotations

from typing import NamedTuple

from bot.chat.commands.typed import STOPS, split_id, typed
from bot.chat.hearing.signals import Signal


class StopOf(NamedTuple):
    """A proposal, named or by a message that may be its card; everything where neither is known.

    `takes_back`: it takes back a ✅, or the proposal, and holds nothing that goes on without it.
    """

    proposal_id: str | None = None
    message_id: str | None = None
    takes_back: bool = False


def stop_on(message_id: str, signal: Signal) -> StopOf | None:
    """Return of what a signal on a message is a stop, None where it is none."""
    return StopOf(message_id=message_id) if signal is Signal.STOP else None


def stop_by(message_id: str, signal: Signal, *, added: bool) -> StopOf | None:
    """Return of what a signal that was given or taken off is a stop.

    A ✅ that was taken off is one until that is worked: the ✅ may still wait for its turn itself,
    and must open nothing then that nobody can take back.
    """
    if not message_id or added is not (signal is Signal.STOP):
        return None
    return StopOf(message_id=message_id, takes_back=not added)


def stop_typed(text: str) -> StopOf | None:
    """Return of what a command is a stop, None where it is none. A freeze stops everything; who
    withdraws a proposal takes back that it may begin."""
    word, rest = typed(text)
    if word == "freeze":
        return StopOf() if rest.strip() else None
    withdraws = word == "withdraw"
    named = split_id(rest)[0] if withdraws or word in STOPS else ""
    return StopOf(proposal_id=named, takes_back=withdraws) if named else None
