"""In which message a card stands: what was seen of one, or noted of it, says nothing of another in
which the card was posted since.

Whatever is kept in a card's `extra` of single emoji is named here, and dropped by `anew`, which
`showing/placed.py` calls where a card stands in another message:

- `refused`, `refused_to`: which were refused, how often, when and to whom (`refused.py`)
- `unjudged`: whose a ✅ is that waits to be judged (`unjudged.py`)
- `off_by_next_ms`: when the next owner of an account took a ✅ off (`hanging.py` writes it,
  `seen_gone.py` reads it)
- `hands`: since which state of the accounts what is noted nowhere was given (`given_since.py`)

Of people, not of emoji, and kept with the row: `gone_ms`, `gone_version`, `gone_by`
(`seen_gone.py`), `given_ms`, `cleared_ms`, `told_ms` (`known.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lifecycle.ports import Transaction
from lifecycle.records import Card

#: What is noted of single emoji: in the next message they stand no more.
REFUSED: Final = "refused"
#: To whom each of those was refused, who had its account then.
REFUSED_TO: Final = "refused_to"
UNJUDGED: Final = "unjudged"
#: When a ✅ that had counted was taken off by whoever had its account by then, ms UTC.
OFF_BY_NEXT: Final = "off_by_next_ms"
#: Since when what is noted nowhere was given (`given_since.py`).
HANDS: Final = "hands"
#: Under which state of the accounts the post of a card was begun.
_CLAIMED: Final = "hands_claimed"
_OF_EMOJI: Final = frozenset({REFUSED, REFUSED_TO, UNJUDGED, OFF_BY_NEXT, HANDS})


def still_in(tx: Transaction, card: Card) -> Card | None:
    """Return the row of a card that was read, or heard of, None where it stands elsewhere by now:
    then nothing of that is noted."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    moved = stands is None or stands.message_ids[-1:] != card.message_ids[-1:]
    return None if moved else stands


def known_before(at_ms: int, asked_ms: int | None, now_ms: int) -> bool:
    """Say whether something was heard before a card was asked for, all of it in ms UTC; asked for
    at None is now. What lies ahead was heard by a clock that has been set back since."""
    return asked_ms is None or not asked_ms <= at_ms <= now_ms


def as_it_stood_in(card: Card, message_id: str) -> Card:
    """Return a card as it stood in one of its messages alone, which may not be the last."""
    return replace(card, message_ids=(message_id,))


def claimed(card: Card, state: int) -> Card:
    """Note under which state of the accounts (`Hands.state`) a card is about to be posted."""
    return replace(card, extra={**card.extra, _CLAIMED: state})


def anew(card: Card) -> Card:
    """Return a card that was posted anew: nobody has put anything there before it was begun."""
    extra = {name: each for name, each in card.extra.items() if name not in _OF_EMOJI}
    state = card.extra.get(_CLAIMED)
    since = {HANDS: {"": state}} if type(state) is int and state > 0 else {}
    return replace(card, extra={**extra, **since})
