"""Decides whether an emoji found on a card may have been given by a former owner of its account.

A card does not tell when an emoji was put there, and a ✅ counts for nobody but its giver.

- It keeps, under `hands` in a card's `extra`, the state of the config's accounts
  (`lifecycle.hands`) since which emoji that stand there without any note were given: for all
  accounts under `""`, for one whose ✅ was heard under its name.
- It is written when a card is posted (the state under which its post was begun: `hands_claimed`),
  once a whole reading left every ✅ noted, and when a ✅ is heard to be given or taken off by the
  present owner of its account; each only if accounts have changed hands since what is noted.
- `catching_up.py` reads it before a ✅ that is found counts, and to know whose a ❌ there may be.
- It is dropped with the message: a card that is posted anew bears nothing that was given before. A
  row of a former version has none: what stands there may have been given at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from bot.chat.hearing.known import Known
from bot.chat.hearing.refused import gave_by
from bot.chat.hearing.refused_emoji import is_refused
from bot.chat.hearing.seen_gone import approves
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.standing_in import HANDS, still_in
from bot.chat.hearing.unjudged import waits_for, was_anothers
from lifecycle.answers import Sender
from lifecycle.hands import Hands, user_of
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.review import Review
from lifecycle.world import World

_ALL: Final = ""
#: The answer to a ✅ that a former owner of the account gave, or may have given.
FOR_ANOTHER: Final = (
    "The ✅ that stands here is of whoever had this account before; nothing was counted for you. "
    "To approve take it off and put it there again."
)


def may_be_anothers(hands: Hands, known: Known, sender: Sender) -> bool:
    """Return whether a ✅ that is found may have been given before its sender had the account, and
    so must not approve for them. One by which they have approved, or wait to, is theirs."""
    mine = (r for r in known.reviews if r.counts and approves(r) and r.person == sender.id)
    gave = any(gave_by(sender, known.card.message_ids[-1], each) for each in mine)
    theirs = gave or waits_for(known.card, sender)
    return not theirs and not _given_since(hands, known.card, sender)


def was_heard_of(hands: Hands, card: Card, sender: Sender) -> bool:
    """Return whether the present owner of this account was heard to give or take off a ✅ by it,
    after a former owner had it: what stands there is theirs."""
    user = user_of(sender.account)
    return 0 < hands.state_of(sender.surface, user) <= _noted(card).get(user, 0)


def with_heirs(hands: Hands, card: Card, stopping: Iterable[Sender]) -> list[Sender]:
    """Return who stands under ❌, with the former owner of the account as heir if that one may have
    given it: the ❌ counts for the heir if the present owner may not stop the proposal."""
    found = []
    for each in stopping:
        former = hands.former(each.surface, user_of(each.account))
        before = former is not None and former != each.identity
        unsure = before and not _given_since(hands, card, each)
        found.append(replace(each, heir=former) if unsure else each)
    return found


def note_whole_reading(
    tx: Transaction, hands: Hands, card: Card, approving: Collection[Sender]
) -> None:
    """Note that a card was read after accounts last changed hands, if every ✅ that stands there is
    noted by now: what is found there later without any note was given since."""
    stands = still_in(tx, card)
    if stands is None or _noted(stands).get(_ALL, 0) >= hands.state:
        return
    reviews = tx.reviews.of(card.proposal_id)
    if all(_is_noted(stands, each, reviews) for each in approving):
        _put(tx, stands, {**_noted(stands), _ALL: hands.state})


def is_whole(hands: Hands, card: Card) -> bool:
    """Return whether a whole reading adds nothing: no account changed hands since the last one."""
    return _noted(card).get(_ALL, 0) >= hands.state


async def keep_heard(world: World, card: Card, sender: Sender) -> None:
    """Note that a ✅ was heard to be given, or taken off, by the present owner of its account: what
    stands there under it by then was given since they own it. An event that waited while others
    owned it in between does not show that."""
    hands, now_ms, user = world.hands, world.clock.now_ms(), user_of(sender.account)
    heard = was_heard_of(hands, card, sender) or not hands.state_of(sender.surface, user)
    before = hands.before(sender.surface, user, sender.said_ms(now_ms), now_ms) is not None
    if sender.is_known_to(world.law.policy) and not (heard or before):
        with suppress(StoreUnavailable):  # then it is as if it had not been heard
            await world.write(lambda tx: _note_heard(tx, hands, card, sender))


def _note_heard(tx: Transaction, hands: Hands, card: Card, sender: Sender) -> None:
    stands, user = still_in(tx, card), user_of(sender.account)
    if stands is not None:
        state = hands.state_of(sender.surface, user)
        _put(tx, stands, {**_noted(stands), user: state})


def _given_since(hands: Hands, card: Card, sender: Sender) -> bool:
    user = user_of(sender.account)
    return _since(card, user) >= hands.state_of(sender.surface, user)


def _since(card: Card, user: str) -> int:
    noted = _noted(card)
    return max(noted.get(_ALL, 0), noted.get(user, 0))


def _is_noted(card: Card, sender: Sender, reviews: Iterable[Review]) -> bool:
    """Return whether a ✅ that stands was refused, waits to be judged, or gave an approval."""
    refused = is_refused(card, (sender.account, Signal.APPROVE))
    waits = waits_for(card, sender) or was_anothers(card, sender, 0)
    gave = (approves(r) and gave_by(sender, card.message_ids[-1], r) for r in reviews)
    return refused or waits or any(gave)


def _noted(card: Card) -> Mapping[str, int]:
    """Return what is noted; a note that somebody wrote over counts as absent."""
    noted = card.extra.get(HANDS)
    told = noted.items() if isinstance(noted, Mapping) else ()
    return {user: state for user, state in told if type(state) is int}


def _put(tx: Transaction, card: Card, noted: Mapping[str, int]) -> None:
    tx.cards.put(replace(card, extra={**card.extra, HANDS: dict(noted)}))
