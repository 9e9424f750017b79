"""Whose a ✅ was that was heard, or found, and could not be judged then, as where nobody says who
is a member: it is found again, and whoever has its account by then has not given it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from bot.chat.hearing.owners import user_of
from lifecycle.answers import Sender
from lifecycle.ports import RowAtFault, StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.world import World

#: By account: whose its ✅ was, and when that was heard, in ms UTC.
_UNJUDGED: Final = "unjudged"


async def keep_unjudged(world: World, card: Card, sender: Sender) -> None:
    """Note whose the ✅ is that this sender gave on the card and nobody could judge; where the
    store takes nothing, as soon as it does: the answer to its giver does not wait for that."""
    unit = partial(note_unjudged, card=card, sender=sender, now_ms=world.clock.now_ms())
    try:
        await world.write(unit)
    except RowAtFault:
        return  # the card of this row is not read either
    except StoreUnavailable:
        world.background.spawn(world.write_surely(unit))


async def keep_judged(world: World, card: Card, sender: Sender) -> None:
    """Note that this account gave a ✅ on the card that is judged: the one before waits no more."""
    if _but(card, [sender.account]) != _noted(card):
        unit = partial(note_off, card=card, accounts=[sender.account])
        with suppress(StoreUnavailable):  # it counts all the same
            await world.write(unit)


def note_unjudged(tx: Transaction, card: Card, sender: Sender, now_ms: int) -> None:
    """Note whose it is; a stranger's is nobody's, and on another message than the card's it does
    not count later either."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    if stands is None or stands.message_ids[-1:] != card.message_ids[-1:]:
        return
    if sender.id is not None:
        _put(tx, stands, _but(stands, [sender.account]) | {sender.account: (sender.id, now_ms)})


def note_off(tx: Transaction, card: Card, accounts: Collection[str]) -> None:
    """Note that the ✅ of these was seen gone: the next one is a new one."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    left = _but(stands, accounts) if stands is not None else {}
    if stands is not None and left != _noted(stands):
        _put(tx, stands, left)


def unjudged_off(card: Card, there: Collection[str], asked_ms: int | None) -> set[str]:
    """Return of which accounts a ✅ that was not judged before the card was asked for is not among
    those that stand `there`."""
    off = _but(card, there).items()
    return {who for who, (_, at_ms) in off if asked_ms is None or at_ms < asked_ms}


def note_judged(tx: Transaction, card: Card, sender: Sender) -> None:
    """Note that a ✅ that was found is judged, where it waited to count for its giver."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    if stands is not None and waits_for(stands, sender):
        note_off(tx, card, [sender.account])


def waits_for(card: Card, sender: Sender) -> bool:
    """Say whether a ✅ of this account in the message in which the card stands waits to count for
    them, who had the account when it was heard."""
    theirs = _since(card, sender.account, 0)
    return bool(theirs) and all(whose == sender.id for whose in theirs)


def was_anothers(card: Card, sender: Sender, since_ms: int) -> bool:
    """Say whether the ✅ of this account was heard when the account was somebody else's, in the
    message in which the card stands, and not before `since_ms`."""
    return any(whose != sender.id for whose in _since(card, sender.account, since_ms))


def _since(card: Card, account: str, since_ms: int) -> Collection[str]:
    """Return whose the ✅ of this account were that are noted of that message since then."""
    least_ms, user = max(since_ms, card.posted_at_ms or 0), user_of(account)
    theirs = (each for who, each in _noted(card).items() if user_of(who) == user)
    return [whose for whose, at_ms in theirs if at_ms >= least_ms]


def _but(card: Card, accounts: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return what is noted of all others; a config may name another team of an account by now."""
    users = {user_of(each) for each in accounts}
    return {who: each for who, each in _noted(card).items() if user_of(who) not in users}


def _noted(card: Card) -> dict[str, tuple[str, int]]:
    """Return what is noted; what somebody wrote over is as if it had never been."""
    noted = card.extra.get(_UNJUDGED)
    told = noted.items() if isinstance(noted, Mapping) else ()
    return {who: (each[0], each[1]) for who, each in told if _is_note(each)}


def _is_note(told: object) -> bool:
    if not isinstance(told, list | tuple) or len(told) != 2:
        return False
    return isinstance(told[0], str) and type(told[1]) is int


def _put(tx: Transaction, card: Card, noted: Mapping[str, tuple[str, int]]) -> None:
    kept = {who: list(each) for who, each in noted.items()}
    tx.cards.put(replace(card, extra={**card.extra, _UNJUDGED: kept}))
