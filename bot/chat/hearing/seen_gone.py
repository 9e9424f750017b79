"""Records whose ✅ was seen taken off a card after their last approval: the next is a new decision.

If a person has had two accounts, the ✅ of the one says nothing new because that of the other went.

It keeps in a card's `extra`, by person, when their ✅ was last seen off it (`gone_ms`), what the
card showed then (`gone_version`), and of which account it was, after how many approvals
(`gone_by`). `known.note_changed` writes it, `known_of` and `turn_of` read it; after a later
approval it says nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bot.chat.hearing.event_ids import taken_off_by
from bot.chat.hearing.standing_in import OFF_BY_NEXT
from lifecycle.audit import AuditEvent
from lifecycle.event_kinds import EventKind
from lifecycle.hands import user_of
from lifecycle.moment import is_moment, ms_of
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.review import Decision, Review

#: By person: when their ✅ was last seen off the card, ms UTC.
GONE: Final = "gone_ms"
#: By person: the version that the card showed then.
GONE_AT: Final = "gone_version"
#: By person: of which account it was, and how many approvals they had given by then, which tells
#: the order even if the clock is set.
_GONE_BY: Final = "gone_by"
_BACK: Final = EventKind.APPROVAL_TAKEN_BACK
_LAST_WORDS: Final = frozenset({EventKind.REVIEWED, _BACK})
#: Stands for every account, if nobody noted which it was.
_ANY: Final = ""


def approves(review: Review) -> bool:
    """Return whether a review is an approval, whether or not it still counts."""
    return review.decision is Decision.APPROVE


def last_words(tx: Transaction, card: Card) -> dict[str, AuditEvent]:
    """Return by person what they did last on the card's proposal: review it, or take that back."""
    return {
        entry.event.actor.id: entry.event
        for entry in tx.audit.without_attempts(card.proposal_id)
        if entry.event.kind in _LAST_WORDS and entry.event.actor is not None
    }


def taken_back_ms(words: Mapping[str, AuditEvent]) -> dict[str, int]:
    """Return when people took their approval back, ms UTC."""
    return {person: ms_of(each.at) for person, each in words.items() if each.kind == _BACK}


def gone_by(
    words: Mapping[str, AuditEvent], card: Card, stands: Card, reviews: Sequence[Review]
) -> dict[str, frozenset[str]]:
    """Return whose ✅ was seen gone from the card after their last approval, and of which accounts,
    as the platform names them; `stands` is the card's row."""
    found: dict[str, frozenset[str]] = {}
    for person, user in (*_taken_back_here(words, card), *_noted_since(stands, reviews)):
        found[person] = found.get(person, frozenset()) | {user}
    return found


def is_gone(gone: Mapping[str, frozenset[str]], person: str | None, account: str) -> bool:
    """Return whether the ✅ of this account is among those of a person that were seen gone."""
    return not gone.get(person or "", frozenset()).isdisjoint({_ANY, user_of(account)})


def with_gone(
    card: Card, person: str, account: str, approved: int, now_ms: int, shown: int
) -> Card:
    """Return the card with the note that the ✅ of a person's account is off it, after `approved`
    approvals of theirs; the card showed `shown` then."""
    noted = {GONE: now_ms, GONE_AT: shown, _GONE_BY: [user_of(account), approved]}
    extra = {name: {**card.extra.get(name, {}), person: each} for name, each in noted.items()}
    return replace(card, extra={**card.extra, **extra})


def off_by_next(card: Card) -> Mapping[str, Any]:
    """Return by account when its next owner took off a ✅ that had counted for another."""
    noted = card.extra.get(OFF_BY_NEXT)
    return noted if isinstance(noted, Mapping) else {}


def off_by_next_ms(card: Card, account: str) -> int:
    """Return when that was for this account, ms UTC, 0 for never."""
    off_ms = off_by_next(card).get(user_of(account))
    return off_ms if is_moment(off_ms) else 0


def _taken_back_here(words: Mapping[str, AuditEvent], card: Card) -> Iterator[tuple[str, str]]:
    for person, event in words.items():
        user = taken_off_by(card.message_ids[-1], event.event_id)
        if event.kind == _BACK and event.surface == card.surface and user is not None:
            yield person, user_of(user)


def _noted_since(card: Card, reviews: Sequence[Review]) -> Iterator[tuple[str, str]]:
    last = {review.person: review.at_ms for review in reviews if approves(review)}
    gone: Mapping[str, int] = card.extra.get(GONE, {})
    for person in gone.keys() & last.keys():
        approved = sum(approves(each) and each.person == person for each in reviews)
        user, then = _told(card.extra.get(_GONE_BY), person)
        if then == approved or (then is None and gone[person] >= last[person]):
            yield person, user


def _told(noted: object, person: str) -> tuple[str, int | None]:
    """Return of which account a person's ✅ was, and after how many approvals; `_ANY` and None if
    that is unknown: a former version left it out, or somebody wrote over it."""
    told = noted.get(person) if isinstance(noted, Mapping) else None
    match told:
        case [str(user), int(approved)]:
            return user, approved
        case _:
            return _ANY, None
