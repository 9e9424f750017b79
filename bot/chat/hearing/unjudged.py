"""Whose a ✅ was that was heard, or found, and could not be judged then, as where nobody says who
is a member: it is found again, and whoever has its account by then has not given it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


def note_unjudged(tx: Transaction, card: Card, sender: Sender, now_ms: int) -> None:
    """Note whose it is; a stranger's is nobody's."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    if stands is not None and sender.id is not None:
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


def was_anothers(card: Card, sender: Sender, since_ms: int) -> bool:
    """Say whether the ✅ of this account was heard when the account was somebody else's, in the
    message in which the card stands, and not before `since_ms`."""
    least_ms, user = max(since_ms, card.posted_at_ms or 0), user_of(sender.account)
    theirs = (each for who, each in _noted(card).items() if user_of(who) == user)
    return any(whose != sender.id and at_ms >= least_ms for whose, at_ms in theirs)


def _but(card: Card, accounts: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return what is noted of all others; a config may name another team of an account by now."""
    users = {user_of(each) for each in accounts}
    return {who: each for who, each in _noted(card).items() if user_of(who) not in users}


def _noted(card: Card) -> dict[str, tuple[str, int]]:
    return {who: (each[0], each[1]) for who, each in card.extra.get(_UNJUDGED, {}).items()}


def _put(tx: Transaction, card: Card, noted: Mapping[str, tuple[str, int]]) -> None:
    kept = {who: list(each) for who, each in noted.items()}
    tx.cards.put(replace(card, extra={**card.extra, _UNJUDGED: kept}))
