"""Records whose a ✅ was that could not be judged when it was heard or found.

That is so, for example, while nobody says who is a member. The ✅ is found again, and another owner
of its account by then has not given it.

It keeps in a card's `extra`, under `unjudged` by account, whose the ✅ was, when that was noted and
when it was heard. `noting.py` and `catching_up.py` write it, `refused.py` and `given_since.py`
read it; it is dropped once the ✅ is judged or seen gone, and with the message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from bot.chat.hearing.standing_in import UNJUDGED, known_before, still_in
from lifecycle.answers import Sender
from lifecycle.hands import user_of
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.world import World


class _Note(NamedTuple):
    """The note on an account: whose its ✅ was, when that was noted, and when the ✅ was heard or
    first found; ms UTC."""

    whose: str
    at_ms: int
    heard_ms: int


async def keep_unjudged(world: World, card: Card, sender: Sender) -> None:
    """Note whose the ✅ is that this sender gave on the card and nobody could judge. If the store
    takes nothing now, it is noted as soon as it does; the answer to its giver does not wait."""
    now_ms = world.clock.now_ms()
    heard_ms = sender.said_ms(now_ms)
    unit = partial(note_unjudged, card=card, sender=sender, now_ms=now_ms, heard_ms=heard_ms)
    try:
        await world.write(unit)
    except RowAtFault:
        return  # the card of this row is not read either
    except StoreUnavailable as error:
        world.background.spawn(world.units.write_until_taken(unit, failed=error))


async def keep_judged(world: World, card: Card, sender: Sender) -> None:
    """Note that a ✅ of this account on the card is judged: an earlier one waits no more."""
    if _but(card, [sender.account]) != _noted(card):
        unit = partial(note_off, card=card, accounts=[sender.account])
        with suppress(StoreUnavailable):  # it counts all the same
            await world.write(unit)


def note_unjudged(
    tx: Transaction, card: Card, sender: Sender, now_ms: int, heard_ms: int | None = None
) -> None:
    """Note whose a ✅ is. A stranger's is not noted, nor is one on another message than the card's
    last, which does not count later either. One that is found again counts as heard when it was
    first noted."""
    stands = still_in(tx, card)
    if stands is None or sender.id is None:
        return
    if heard_ms is None:
        before_ms = given_ms(stands, sender)
        heard_ms = now_ms if before_ms is None else before_ms
    note = _Note(sender.id, now_ms, heard_ms)
    _put(tx, stands, _but(stands, [sender.account]) | {sender.account: note})


def note_off(tx: Transaction, card: Card, accounts: Collection[str]) -> None:
    """Note that the ✅ of these accounts were seen gone: the next ones are new acts."""
    stands = still_in(tx, card)
    left = _but(stands, accounts) if stands is not None else {}
    if stands is not None and left != _noted(stands):
        _put(tx, stands, left)


def unjudged_off(card: Card, there: Collection[str], asked_ms: int | None, now_ms: int) -> set[str]:
    """Return the accounts whose ✅ was noted as not judged before the card was asked for, and is
    not among those that stand `there`."""
    off = _but(card, there).items()
    return {who for who, note in off if known_before(note.at_ms, asked_ms, now_ms)}


def note_judged(tx: Transaction, card: Card, sender: Sender) -> None:
    """Note that a ✅ that was found is judged, if it waited to count for its giver."""
    stands = still_in(tx, card)
    if stands is not None and waits_for(stands, sender):
        note_off(tx, card, [sender.account])


def waits_for(card: Card, sender: Sender) -> bool:
    """Return whether a ✅ of this account, in the message in which the card stands, waits to count
    for the sender, who had the account when it was heard."""
    return given_ms(card, sender) is not None


def given_ms(card: Card, sender: Sender) -> int | None:
    """Return when that ✅ was heard or first found, ms UTC; None if none waits for them."""
    theirs = _of(card, sender.account)
    mine = all(note.whose == sender.id for note in theirs)
    return max((note.heard_ms for note in theirs), default=None) if mine else None


def was_anothers(card: Card, sender: Sender, since_ms: int) -> bool:
    """Return whether a ✅ of this account, in the message in which the card stands, was noted as
    somebody else's at or after `since_ms`."""
    theirs = _of(card, sender.account)
    return any(note.whose != sender.id and note.at_ms >= since_ms for note in theirs)


def _of(card: Card, account: str) -> Collection[_Note]:
    """Return the notes on the ✅ of this account in that message."""
    user = user_of(account)
    return [note for who, note in _noted(card).items() if user_of(who) == user]


def _but(card: Card, accounts: Collection[str]) -> dict[str, _Note]:
    """Return the notes on all other accounts; a config may name another team of one by now."""
    users = {user_of(each) for each in accounts}
    return {who: each for who, each in _noted(card).items() if user_of(who) not in users}


def _noted(card: Card) -> dict[str, _Note]:
    """Return the notes by account; one that somebody wrote over counts as absent."""
    noted = card.extra.get(UNJUDGED)
    told = noted.items() if isinstance(noted, Mapping) else ()
    notes = ((who, _note_of(each)) for who, each in told)
    return {who: note for who, note in notes if note is not None}


def _note_of(told: object) -> _Note | None:
    if not isinstance(told, list | tuple) or len(told) not in (2, 3):
        return None
    whole = isinstance(told[0], str) and all(type(each) is int for each in told[1:])
    return _Note(told[0], told[1], told[-1]) if whole else None  # a former one tells one time


def _put(tx: Transaction, card: Card, noted: Mapping[str, _Note]) -> None:
    kept = {who: list(each) for who, each in noted.items()}
    tx.cards.put(replace(card, extra={**card.extra, UNJUDGED: kept}))
