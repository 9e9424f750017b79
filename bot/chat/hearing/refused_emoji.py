"""Keeps which emoji on a card were refused, in the card's `extra`.

`refused` has of each emoji, by account and signal, a number and when it was last refused; the
number is twice how often it was seen gone again, plus one while it stands. `refused_to` has to whom
it was refused. Only this module reads and writes the two. They are dropped with the message
(`standing_in.py`); of more than 64 emoji the oldest are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from bot.chat.hearing.signals import Signal
from bot.chat.hearing.standing_in import REFUSED, REFUSED_TO, still_in
from lifecycle.answers import Sender
from lifecycle.ports import Transaction
from lifecycle.records import Card

#: It is kept of this many emoji on one card; a further one takes the place of the oldest.
_MOST: Final = 64

#: The account that gave an emoji, and what the emoji says.
Key = tuple[str, Signal]


@dataclass(frozen=True, slots=True)
class Refused:
    """An emoji that was refused, last at `at_ms` (UTC; 0 if it counted for somebody since).

    `stands` until it is seen gone, which `times_gone` counts. `to` is to whom it was refused, ""
    for a stranger, None where a former version did not note it.
    """

    at_ms: int = 0
    stands: bool = False
    times_gone: int = 0
    to: str | None = None

    def seen_gone(self) -> Refused:
        """Return it as it is once it was seen gone from the card: the next one is a new act."""
        return replace(self, stands=False, times_gone=self.times_gone + 1)


#: What stands for an emoji of which no refusal is noted.
NEVER: Final = Refused()


def all_refused(card: Card) -> dict[Key, Refused]:
    """Return what is noted of the message in which the card stands, the latest refusal last."""
    told = card.extra.get(REFUSED_TO)
    to = told if isinstance(told, Mapping) else {}
    return {
        _key(name): Refused(at_ms, number % 2 == 1, number // 2, to.get(name))
        for name, (number, at_ms) in card.extra.get(REFUSED, {}).items()
    }


def refusal_of(card: Card, key: Key) -> Refused:
    """Return what is noted of one emoji."""
    return all_refused(card).get(key, NEVER)


def is_refused(card: Card, key: Key) -> bool:
    """Return whether an emoji was refused in the message in which the card stands, and not seen
    gone since."""
    return refusal_of(card, key).stands


def note_refused(tx: Transaction, card: Card, sender: Sender, signal: Signal, now_ms: int) -> None:
    """Note that an emoji which stands there was refused to its sender, who owns its account."""
    stands, key = still_in(tx, card), (sender.account, signal)
    if stands is None:
        return
    noted = all_refused(stands)
    before = noted.pop(key, NEVER)
    noted[key] = replace(before, at_ms=now_ms, stands=True, to=sender.id or "")
    put_refused(tx, stands, dict(list(noted.items())[-_MOST:]))


def put_refused(tx: Transaction, card: Card, noted: Mapping[Key, Refused]) -> None:
    """Write what is noted into the card's row."""
    named = {f"{account}:{signal.name}": each for (account, signal), each in noted.items()}
    numbers = {name: [2 * e.times_gone + e.stands, e.at_ms] for name, e in named.items()}
    to = {name: each.to for name, each in named.items() if each.to is not None}
    tx.cards.put(replace(card, extra={**card.extra, REFUSED: numbers, REFUSED_TO: to}))


def _key(name: str) -> Key:
    account, _, signal = name.rpartition(":")
    return account, Signal[signal]
