"""Tells which act of a person an emoji on a card is, so that each act is carried out once.

`catching_up.py` puts the turn that `turn_of` returns into the event id of an emoji that it found.
Nothing is stored here but the event id of an emoji that was refused when it was heard (`remember`),
among those that the store keeps for a day: if it is then found on its card, it is the same act.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.chat.hearing.event_ids import late_event
from bot.chat.hearing.refused_emoji import note_refused, refusal_of
from bot.chat.hearing.seen_gone import GONE, approves
from bot.chat.hearing.signals import Signal
from lifecycle.answers import Sender
from lifecycle.hands import Hands, user_of
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.review import Review
from lifecycle.world import World

#: This many digits of a policy's digest tell it from another.
_DIGITS: Final = 12


def turn_of(
    card: Card,
    reviews: Sequence[Review],
    law: tuple[Policy, Hands],
    sender: Sender,
    signal: Signal,
) -> str:
    """Return which act of this person an emoji is that was found on the card.

    `card` is the row as it stands in the store. An emoji that was refused and then seen gone is
    another act when it is found again.

    A ❌ is judged anew under every policy, and for every owner of its account (a policy's digest
    does not cover accounts), so that whoever may stop now is heard. A ✅ is not: one that merely
    still stands must not approve because somebody's authority has changed. If its account has
    changed hands, the turn names the owner: another may have done as many acts by that account.
    """
    policy, hands = law
    parts = [str(sum(review.person == sender.id for review in reviews))]
    gone_ms = card.extra.get(GONE, {}).get(sender.id or "")
    if signal is Signal.APPROVE and gone_ms is not None:
        parts.append(str(gone_ms))
    times = refusal_of(card, (sender.account, signal)).times_gone
    parts += [f"r{times}"] if times else []
    if signal is Signal.STOP:
        parts += [policy.digest[-_DIGITS:], *((f"of:{sender.id}",) if sender.id else ())]
    elif hands.state_of(sender.surface, user_of(sender.account)):
        parts.append(f"of:{sender.id or ''}")
    return ".".join(parts)


async def remember(
    world: World, card: Card, message_id: str, sender: Sender, signal: Signal
) -> None:
    """Note that an emoji that was heard on this message was refused, so that it is not refused, and
    audited, again when the card is read."""
    law, now_ms = (world.law.policy, world.hands), world.clock.now_ms()

    def unit(tx: Transaction) -> None:
        stands = tx.cards.get(card.proposal_id, card.surface) or card
        turn = turn_of(stands, tx.reviews.of(card.proposal_id), law, sender, signal)
        event_id = late_event(message_id, sender, signal, turn)
        tx.flags.first_time(sender.surface, event_id, now_ms)
        if message_id in stands.message_ids[-1:]:
            note_refused(tx, card, sender, signal, now_ms)

    await world.store.write(unit)


async def approves_it(world: World, card: Card, sender: Sender) -> bool:
    """Return whether an approval of theirs counts for the proposal of the card."""
    reviews = await world.store.read(lambda tx: tx.reviews.of(card.proposal_id))
    return any(r.person == sender.id and r.counts and approves(r) for r in reviews)
