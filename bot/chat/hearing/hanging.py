"""Which approvals hang on a ✅ that stands on a card no more (design section 6).

Whoever takes off a ✅ of theirs withdraws it everywhere, whichever of them it was that counted: an
approval that was given on another card first is withdrawn with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.chat.hearing.event_ids import given_by, on_card
from bot.chat.hearing.known import Known, approves
from bot.chat.hearing.owners import user_of
from bot.chat.hearing.refused import stood_beside_ms
from lifecycle.records import Card
from lifecycle.review import Review


def hanging(
    known: Known, card: Card, absent: Mapping[str, str], asked_ms: int | None
) -> list[Review]:
    """Return the approvals of people whose ✅ stood on this card and does not any more.

    `absent` are the people without a ✅ there, with their accounts; `asked_ms` is when the platform
    was asked, ms UTC, None for now: what was heard after that is not known to be gone.
    """
    counting = (r for r in known.reviews if r.person in absent and r.counts and approves(r))
    return [each for each in counting if _hangs(each, known, card, absent[each.person], asked_ms)]


def _hangs(review: Review, known: Known, card: Card, account: str, asked_ms: int | None) -> bool:
    given_ms = _given_here_ms(review, known, card, account)
    if given_ms is None or (asked_ms is not None and given_ms >= asked_ms):
        return False
    return max(given_ms, known.given_ms.get(review.person, 0)) > known.cleared_ms


def _given_here_ms(review: Review, known: Known, card: Card, account: str) -> int | None:
    """Return when the ✅ of this approval was given on the card, or one beside it that changed
    nothing more; None where there was none. One of an account that a config has taken from them
    since says nothing of the account that they have by now."""
    message_id = card.message_ids[-1]
    here = (review.event_id or "").startswith(on_card(message_id))
    by = given_by(message_id, review.event_id)
    theirs = by is None or user_of(by) == user_of(account)
    if review.surface == card.surface and here and theirs:
        return review.at_ms
    current = known.card.message_ids[-1:] == (message_id,)
    return stood_beside_ms(known.card, account) if current else None
