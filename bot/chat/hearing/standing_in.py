"""Binds what is noted of emoji to the message in which the card stood.

What was seen of one message, or noted of it, says nothing of another in which the card was posted
since. Whatever is kept in a card's `extra` of single emoji is named here, and dropped by `anew`,
which `showing/placed.py` calls when a card stands in another message:

- `refused`, `refused_to`: which were refused, how often, when and to whom (`refused_emoji.py`)
- `unjudged`: whose a ✅ is that waits to be judged (`unjudged.py`)
- `off_by_next_ms`: when the next owner of an account took a ✅ off (`hanging.py` writes it,
  `seen_gone.py` reads it)
- `hands`: since which state of the accounts emoji without any note were given (`given_since.py`)

What is about people, not about emoji, stays with the row: `gone_ms`, `gone_version`, `gone_by`
(`seen_gone.py`), `given_ms`, `cleared_ms`, `told_ms` (`known.py`), `off_ms`
(`lifecycle/people/overtaken.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lifecycle.ports import Transaction
from lifecycle.records import Card

#: The emoji that were refused.
REFUSED: Final = "refused"
#: To whom each of those was refused, who had its account then.
REFUSED_TO: Final = "refused_to"
#: The ✅ that wait to be judged.
UNJUDGED: Final = "unjudged"
#: By account: when its next owner took off a ✅ that had counted for another, ms UTC.
OFF_BY_NEXT: Final = "off_by_next_ms"
#: Since which state of the accounts emoji without any note were given (`given_since.py`).
HANDS: Final = "hands"
#: Under which state of the accounts the post of a card was begun.
_CLAIMED: Final = "hands_claimed"
#: Notes about single emoji: in the next message those do not stand any more.
_OF_EMOJI: Final = frozenset({REFUSED, REFUSED_TO, UNJUDGED, OFF_BY_NEXT, HANDS})


def still_in(tx: Transaction, card: Card) -> Card | None:
    """Return the row of a card that was read, or heard of; None if the card stands in another
    message by now: then nothing is noted."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    moved = stands is None or stands.message_ids[-1:] != card.message_ids[-1:]
    return None if moved else stands


def known_before(at_ms: int, asked_ms: int | None, now_ms: int) -> bool:
    """Return whether something was heard before a card was asked for; all in ms UTC, `asked_ms`
    None for now. What lies ahead of now was heard before the clock was set back, so it counts."""
    return asked_ms is None or not asked_ms <= at_ms <= now_ms


def as_it_stood_in(card: Card, message_id: str) -> Card:
    """Return a card as it stood in this one of its messages, which may not be the last."""
    return replace(card, message_ids=(message_id,))


def claimed(card: Card, state: int) -> Card:
    """Return a card with the state of the accounts (`Hands.state`) at which its post is begun."""
    return replace(card, extra={**card.extra, _CLAIMED: state})


def anew(card: Card) -> Card:
    """Return a card that was posted in a new message, without the notes about single emoji: nobody
    can have put one there before the post was begun."""
    extra = {name: each for name, each in card.extra.items() if name not in _OF_EMOJI}
    state = card.extra.get(_CLAIMED)
    since = {HANDS: {"": state}} if type(state) is int and state > 0 else {}
    return replace(card, extra={**extra, **since})
