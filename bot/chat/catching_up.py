"""Decisions found on a card that nobody told the bot of: made while it was away (section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.chat.incoming import late_event, on_card
from bot.chat.senders import sender_of
from bot.chat.signals import Signal
from lifecycle.answers import CardPlace, Sender
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Card
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Found:
    """Who stands under ✅ and ❌ of a card, the bot left out; `seeded`: its own emoji stand.

    `asked_ms` is when the platform was asked: a ✅ heard after that was not taken back.
    """

    approving: Sequence[Sender] = ()
    stopping: Sequence[Sender] = ()
    seeded: bool = True
    asked_ms: int | None = None


class CatchingUp:
    """Carries out what was found, marked found_late; authority is judged now."""

    def __init__(self, workflow: Workflow, surface: str) -> None:
        self._workflow = workflow
        self._surface = surface

    async def apply(self, card: Card, found: Found) -> int:
        """Bring the law up to date with the card; return how many decisions were new.

        ❌ is heard first: it beats a ✅ that is found with it.
        """
        proposal, reviews = await self._workflow.world.store.read(
            lambda tx: _stands(tx, card.proposal_id)
        )
        if proposal is None or proposal.terminal or not card.message_ids:
            return 0
        stopped = await self._stopped(card, found, reviews)
        if stopped:
            return stopped
        return await self._approved(card, found, reviews) + await self._taken_back(
            card, found, proposal, reviews
        )

    async def _stopped(self, card: Card, found: Found, reviews: Sequence[Review]) -> int:
        count = 0
        for sender in found.stopping:
            if any(r.person == sender.id and r.decision is not Decision.APPROVE for r in reviews):
                continue
            late = self._late(card, sender, Signal.STOP, reviews)
            reply = await self._workflow.reject(
                card.proposal_id, late, card=self._place(card), found_late=True
            )
            count += reply.done
        return count

    async def _approved(self, card: Card, found: Found, reviews: Sequence[Review]) -> int:
        counted = {r.person for r in reviews if r.counts and r.decision is Decision.APPROVE}
        count = 0
        for sender in found.approving:
            if sender.id in counted:
                continue
            late = self._late(card, sender, Signal.APPROVE, reviews)
            reply = await self._workflow.approve(
                card.proposal_id, late, card=self._place(card), found_late=True
            )
            count += reply.done
        return count

    async def _taken_back(
        self, card: Card, found: Found, proposal: Proposal, reviews: Sequence[Review]
    ) -> int:
        """A ✅ given on this very card that is gone was taken back, unless all emoji are gone."""
        if not found.seeded or proposal.state is State.EXECUTING:
            return 0
        standing = {sender.id for sender in found.approving}
        count = 0
        for review in reviews:
            given_here = (review.event_id or "").startswith(on_card(card.message_ids[-1]))
            approves = review.counts and review.decision is Decision.APPROVE
            if not (approves and given_here and review.surface == self._surface):
                continue
            if found.asked_ms is not None and review.at_ms >= found.asked_ms:
                continue
            if review.person not in standing:
                count += await self._gone(card, review.person)
        return count

    async def _gone(self, card: Card, person: str) -> bool:
        known = self._workflow.policy.people.get(person)
        if known is None:
            return False
        account = known.accounts.get(self._surface, "")
        sender = sender_of(self._workflow.policy, self._surface, account)
        place = self._place(card)
        return (await self._workflow.take_back(card.proposal_id, sender, card=place)).done

    def _late(
        self, card: Card, sender: Sender, signal: Signal, reviews: Sequence[Review]
    ) -> Sender:
        turn = sum(review.person == sender.id for review in reviews)
        return replace(sender, event_id=late_event(card.message_ids[-1], sender, signal, turn))

    def _place(self, card: Card) -> CardPlace:
        return CardPlace(self._surface, card.message_ids[-1])


def _stands(tx: Transaction, proposal_id: str) -> tuple[Proposal | None, Sequence[Review]]:
    return tx.proposals.get(proposal_id), tx.reviews.of(proposal_id)
