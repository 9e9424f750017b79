"""✅ that stand beside an approval and change nothing: whoever takes one of theirs off takes that
approval back all the same.

They are kept among those that were refused (`refused.py`): written by a reading of the card, or a
look at it, read once one is gone (`hanging.py`), and dropped as those are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.chat.hearing.known import Known
from bot.chat.hearing.refused import gave_by, is_refused, note_refused, refused_to, says_anew
from bot.chat.hearing.seen_gone import approves
from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender
from lifecycle.hands import user_of
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World


def stood_beside_ms(card: Card, person: str, account: str, there: Collection[str]) -> int | None:
    """Return when a ✅ of this person was heard in the message in which the card stands, which
    changed nothing, as where their approval counted already, and is gone; None for none.

    It is theirs by whom it was refused to: a config may have taken its account from them since.
    Where nobody noted that it is theirs whose account it is by now. `there` are the accounts whose
    ✅ stand, as the platform names them.
    """
    user = user_of(account)
    gone = (each for each in refused_to(card) if user_of(each[0]) not in there)
    theirs = (
        at_ms for who, to, at_ms in gone if (user_of(who) == user if to is None else to == person)
    )
    return max(theirs, default=None)


def stands_beside(
    known: Known, approving: Collection[Sender], waiting: Collection[str]
) -> Sequence[Sender]:
    """Return whose ✅ stand beside an approval that their giver gave elsewhere, say nothing anew,
    and are not noted. Once noted, one that goes takes that approval back, and whoever has its
    account later has not given it. Of the `waiting` their events say so."""
    there = (each for each in approving if user_of(each.account) not in waiting)
    beside = (each for each in there if _only_elsewhere(each, known) and not says_anew(each, known))
    return [e for e in beside if not is_refused(known.card, (e.account, Signal.APPROVE))]


async def note_beside(world: World, card: Card, beside: Collection[Sender]) -> None:
    """Note these where a card is looked at, and not applied as a whole: they may go."""
    now_ms = world.clock.now_ms()

    def unit(tx: Transaction) -> None:
        for each in beside:
            note_refused(tx, card, each, Signal.APPROVE, now_ms)

    if beside:
        await world.write(unit)


def _only_elsewhere(sender: Sender, known: Known) -> bool:
    mine = [each for each in known.reviews if each.person == sender.id and approves(each)]
    mine = [each for each in mine if each.counts] or mine  # a void one by this ✅ says nothing
    message_id = known.card.message_ids[-1]
    return bool(mine) and not any(gave_by(sender, message_id, each) for each in mine)
