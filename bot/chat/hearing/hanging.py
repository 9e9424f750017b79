"""Finds the approvals that hang on a ✅ which does not stand on its card any more (section 6).

Whoever takes off a ✅ of theirs withdraws their approval everywhere, whichever of their ✅ it was
that counted: an approval that was given on another card first is withdrawn with it.

It keeps in a card's `extra`, under `off_by_next_ms` by account, when the next owner of an account
was heard to take off a ✅ that had counted for another: `noting.py` has it written
(`note_taken_off`), `hanging` here and `counted_for_another` in `refused.py` read it, and it is
dropped with the message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.chat.hearing.beside import stood_beside_ms
from bot.chat.hearing.event_ids import given_by, on_card
from bot.chat.hearing.known import Known
from bot.chat.hearing.refused import gave_by, refused_since
from bot.chat.hearing.seen_gone import approves, off_by_next, off_by_next_ms
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.standing_in import OFF_BY_NEXT, known_before, still_in
from lifecycle.answers import Sender
from lifecycle.hands import user_of
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import Card
from lifecycle.review import Review


def without(policy: Policy, surface: str, approving: Collection[Sender]) -> dict[str, str]:
    """Return the people without a ✅ among those that stand, with their accounts, "" for none.

    A ✅ whose account the platform does not vouch for just now has no name; it stands all the same,
    and its giver is not among those returned.
    """
    there, named = _users(approving), {each.id for each in approving}
    accounts = {each.id: each.accounts.get(surface, "") for each in policy.people.values()}
    return {
        person: account
        for person, account in accounts.items()
        if user_of(account) not in there and person not in named
    }


def hanging(
    known: Known,
    card: Card,
    absent: Mapping[str, str],
    approving: Collection[Sender],
    asked_ms: int | None,
    now_ms: int,
) -> list[Review]:
    """Return the approvals of people whose ✅ stood on this card and does not any more.

    `absent` are the people without a ✅ there, with their accounts (`without`), `approving` those
    whose ✅ stands. `asked_ms` is when the platform was asked, ms UTC, None for now; what was heard
    between that and `now_ms` is not known to be gone.
    """
    counting = (r for r in known.reviews if r.person in absent and r.counts and approves(r))
    there = _users(approving)
    given = ((r, _given_here_ms(r, known, card, absent[r.person], there)) for r in counting)
    return [review for review, at_ms in given if _hangs(review, known, at_ms, asked_ms, now_ms)]


def given_once_more(
    known: Known, approving: Collection[Sender], asked_ms: int | None
) -> list[Sender]:
    """Return the people whose ✅ by which they approved stands again, after the card was cleared or
    the next owner of their account took it off, if that is not noted yet. Once it is noted, the
    removal of that ✅ takes the approval back."""
    counting = [review for review in known.reviews if review.counts and approves(review)]
    message_id, asked = known.card.message_ids[-1], asked_ms or 0
    return [
        sender
        for sender in approving
        for each in counting
        if each.person == sender.id and gave_by(sender, message_id, each)
        if known.last_given_ms(each) <= _without_ms(known, sender) < asked
    ]


def _without_ms(known: Known, sender: Sender) -> int:
    """Return when a ✅ of theirs was last off the card though they did not take it off, ms UTC; 0
    for never."""
    return max(known.cleared_ms, off_by_next_ms(known.card, sender.account))


def taking_back(policy: Policy, card: Card, review: Review) -> Sender:
    """Return as whom an approval is taken back whose ✅ is gone from the card. Its giver may have
    no account on that surface any more."""
    account = policy.people[review.person].accounts.get(card.surface)
    if account is not None:
        return sender_of(policy, card.surface, account)
    gave = given_by(card.message_ids[-1], review.event_id) or ""
    return Sender(card.surface, ActorKind.PERSON, review.person, gave)


def note_taken_off(tx: Transaction, card: Card, sender: Sender, now_ms: int) -> None:
    """Note that the sender took off a ✅ that had counted for another owner of the account: it was
    not that person who took it off, and their approval stands."""
    stands, user = still_in(tx, card), user_of(sender.account)
    if stands is None:
        return
    others = (r for r in tx.reviews.of(card.proposal_id) if r.counts and r.person != sender.id)
    gave = (given_by(card.message_ids[-1], each.event_id) for each in others if approves(each))
    if user in (user_of(account) for account in gave if account):
        noted = {**off_by_next(stands), user: now_ms}
        tx.cards.put(replace(stands, extra={**stands.extra, OFF_BY_NEXT: noted}))


def _off_by_next(known: Known, account: str, review: Review, *, theirs: bool) -> bool:
    """Return whether the account's next owner took off the ✅ of this approval, or was told to: its
    absence then does not say that its giver took it back. `theirs` says that the account is its
    giver's, still or again, so that what was refused there may have been theirs."""
    heard = off_by_next_ms(known.card, account) >= known.last_given_ms(review)
    return heard or (not theirs and refused_since(known.card, account, review.at_ms))


def _users(approving: Collection[Sender]) -> set[str]:
    return {user_of(each.account) for each in approving}


def _hangs(
    review: Review, known: Known, given_ms: int | None, asked_ms: int | None, now_ms: int
) -> bool:
    if given_ms is None or not known_before(given_ms, asked_ms, now_ms):
        return False
    return max(given_ms, known.last_given_ms(review)) > known.cleared_ms


def _given_here_ms(
    review: Review, known: Known, card: Card, account: str, there: Collection[str]
) -> int | None:
    """Return when the ✅ of this approval, which is gone, was given on the card (ms UTC), or one
    beside it that changed nothing; None if there was none, or if it stands.

    It is looked for by the account that gave it, which a config may have taken from its giver.
    """
    message_id = card.message_ids[-1]
    here = (review.event_id or "").startswith(on_card(message_id))
    gave = given_by(message_id, review.event_id) or account
    if review.surface == card.surface and here and gave and user_of(gave) not in there:
        theirs = user_of(gave) == user_of(account)
        if not _off_by_next(known, gave, review, theirs=theirs):
            return review.at_ms
    current = known.card.message_ids[-1:] == (message_id,)
    return stood_beside_ms(known.card, review.person, account, there) if current else None
