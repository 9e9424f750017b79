"""Keeps track of ✅ that stand beside an approval and change nothing, as a second one of its giver.

Whoever takes off such a ✅ of theirs takes the approval back all the same. These ✅ are noted among
the emoji that were refused (`refused_emoji.py`): a reading of the card, or a look at it, writes the
note, `hanging.py` reads it once the ✅ is gone, and it is dropped as those are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.chat.hearing.known import Known
from bot.chat.hearing.refused import gave_by, refused_to, says_anew
from bot.chat.hearing.refused_emoji import is_refused, note_refused
from bot.chat.hearing.seen_gone import approves
from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender
from lifecycle.hands import user_of
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World


def stood_beside_ms(card: Card, person: str, account: str, there: Collection[str]) -> int | None:
    """Return when a ✅ of this person, which changed nothing and is gone, was last noted (ms UTC).

    None if there was none in the message in which the card stands. A ✅ is theirs if it was refused
    to them, for a config may have taken its account from them since; if nobody noted to whom, if
    it is of `account`. `there` are the accounts whose ✅ stand, as the platform names them.
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
    """Return whose ✅ stand beside an approval that the same person gave elsewhere, say nothing new
    and are not noted yet. Once a ✅ is noted, its removal takes that approval back, and a later
    owner of its account has not given it. The ✅ of the `waiting` are left to their events."""
    there = (each for each in approving if user_of(each.account) not in waiting)
    beside = (each for each in there if _only_elsewhere(each, known) and not says_anew(each, known))
    return [e for e in beside if not is_refused(known.card, (e.account, Signal.APPROVE))]


async def note_beside(
    world: World, card: Card, known: Known, approving: Collection[Sender], waiting: Collection[str]
) -> None:
    """Note the ✅ beside an approval that counts when a card is looked at and not applied as a
    whole: they may be gone later. Beside a void approval none is noted: its removal takes nothing
    back, and it may be a new decision that is about to be told."""
    now_ms = world.clock.now_ms()
    counting = {each.person for each in known.reviews if each.counts and approves(each)}
    beside = [e for e in stands_beside(known, approving, waiting) if e.id in counting]

    def unit(tx: Transaction) -> None:
        for each in beside:
            note_refused(tx, card, each, Signal.APPROVE, now_ms)

    if beside:
        await world.write(unit)


def _only_elsewhere(sender: Sender, known: Known) -> bool:
    mine = [each for each in known.reviews if each.person == sender.id and approves(each)]
    # If one counts, a void one that was given by this very ✅ says nothing.
    mine = [each for each in mine if each.counts] or mine
    message_id = known.card.message_ids[-1]
    return bool(mine) and not any(gave_by(sender, message_id, each) for each in mine)
