"""Finds the people who are to be told that their ✅ stands on a card while their approval is void.

It keeps in a card's `extra`, under `told_ms`, by person when the approval was given of which they
were last told; `tell_void` writes it after a reading and reads it (through `known_of`); it stays
with the row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from bot.chat.hearing.found import Found
from bot.chat.hearing.known import TOLD, Known, known_of
from bot.chat.hearing.seen_gone import approves
from lifecycle.answers import Reply, Sender
from lifecycle.ports import Transaction
from lifecycle.records import Card
from lifecycle.review import Review
from lifecycle.state import State
from lifecycle.workflow import Workflow

_VOID: Final = "stale_card"
_TAKEN_BACK: Final = "taken back"


async def tell_void(workflow: Workflow, card: Card, found: Found) -> Sequence[tuple[Sender, Reply]]:
    """Return who is to be told that their approval is void, and what; the trail has each as an
    attempt that was ignored."""
    policy, world = workflow.policy, workflow.world
    known = await world.store.read(lambda tx: known_of(tx, policy, card))
    if known is None or known.proposal.state is State.EXECUTING:
        return ()
    void = {s: review for s in found.approving if (review := _made_void(known, s.id or ""))}
    if not void:
        return ()
    await world.write(lambda tx: _note_told(tx, card, void.values()))
    for sender in void:
        await workflow.note_ignored(card.proposal_id, sender, _VOID)
    return [(s, Reply(_void_words(v), _VOID, card.proposal_id)) for s, v in void.items()]


def _made_void(known: Known, person: str) -> Review | None:
    """Return somebody's last approval if it is void, they did not take it back themselves, and they
    were not told so yet; else None."""
    mine = [review for review in known.reviews if review.person == person and approves(review)]
    if not mine or any(review.counts for review in mine) or person in known.seen_gone:
        return None
    told = known.told_ms.get(person) == mine[-1].at_ms
    return None if told or mine[-1].void_why == _TAKEN_BACK else mine[-1]


def _void_words(review: Review) -> str:
    """Return words that say that the ✅ of a void approval counts for nothing, and what to do."""
    return (
        f"Your ✅ stands here, but your approval does not count any more: {review.void_why}. To "
        "approve what the card shows now take the ✅ off and put it there again."
    )


def _note_told(tx: Transaction, card: Card, reviews: Collection[Review]) -> None:
    """Note that people were told of these approvals of theirs that they are void."""
    stands = tx.cards.get(card.proposal_id, card.surface)
    if stands is not None:
        told = {**stands.extra.get(TOLD, {}), **{each.person: each.at_ms for each in reviews}}
        tx.cards.put(replace(stands, extra={**stands.extra, TOLD: told}))
