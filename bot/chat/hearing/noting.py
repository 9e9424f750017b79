"""Writes down, in the row of its card, what an emoji that was heard tells about those found later.

They are the notes that `standing_in.py` lists, of emoji that changed no review; `catching_up.py`
reads them once the emoji is found on its card, or gone.
"""

from __future__ import annotations

from typing import Final

from bot.chat.hearing.acted import remember
from bot.chat.hearing.given_since import keep_heard
from bot.chat.hearing.hanging import note_taken_off
from bot.chat.hearing.known import note_changed
from bot.chat.hearing.refused import note_gone
from bot.chat.hearing.refused_emoji import is_refused
from bot.chat.hearing.shown import shown_when_heard
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.standing_in import as_it_stood_in
from bot.chat.hearing.unjudged import keep_judged, keep_unjudged
from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.people.overtaken import note_off
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.world import World

#: A former process heard it before it ended; the card tells whether it was refused for good.
_ONCE_MORE: Final = "duplicate_event"
_PASSING: Final = frozenset({"audit_unavailable", "still_running"})


def counts_later(reply: Reply) -> bool:
    """Return whether a refusal is passing: the emoji counts when it is found on its card again."""
    return reply.passing or reply.code in _PASSING


async def note_answered(
    world: World,
    card: Card,
    place: CardPlace,
    sender: Sender,
    signal: Signal,
    reply: Reply,
    *,
    added: bool,
) -> None:
    """Note what follows from the answer to an emoji that was put there, or to a ✅ taken off."""
    later, message_id = counts_later(reply), place.message_id
    if added and not reply.done and not later and reply.code != _ONCE_MORE:
        await remember(world, card, message_id, sender, signal)
    if signal is not Signal.APPROVE:
        return
    if added and message_id in card.message_ids[-1:]:
        await _note_given(world, card, sender, reply)
    if not later and not (added and reply.done):
        await note_unchanged(world, card, message_id, sender, added=added)


async def note_seen_off(
    world: World, card: Card, message_id: str, sender: Sender, signal: Signal
) -> None:
    """Note that an emoji which decided nothing is off, without an entry in the trail: the next one
    is a new act."""
    here, gone = as_it_stood_in(card, message_id), [(sender.account, signal)]
    await world.write(lambda tx: note_gone(tx, here, gone))


async def _note_given(world: World, card: Card, sender: Sender, reply: Reply) -> None:
    """Note whose a ✅ is that counts later, or may: a former process may not have noted it."""
    again, key = reply.code == _ONCE_MORE, (sender.account, Signal.APPROVE)
    if not (again and is_refused(card, key)):
        keep = keep_unjudged if again or counts_later(reply) else keep_judged
        await keep(world, card, sender)
    await keep_heard(world, card, sender)


async def note_unchanged(
    world: World, card: Card, message_id: str, sender: Sender, *, added: bool
) -> None:
    """Note what a ✅ that changed no review tells about those that will be found there."""
    here, now_ms = as_it_stood_in(card, message_id), world.clock.now_ms()
    shown = shown_when_heard(here) or 0

    def unit(tx: Transaction) -> None:
        if not added:
            note_gone(tx, here, [(sender.account, Signal.APPROVE)])
            note_taken_off(tx, here, sender, now_ms)
            note_off(tx, here.proposal_id, sender, now_ms)
        if sender.id is not None:
            who, account = sender.id, sender.account
            note_changed(tx, here, who, now_ms, shown, added=added, account=account)

    await world.write(unit)
    if not added:
        await keep_heard(world, here, sender)
