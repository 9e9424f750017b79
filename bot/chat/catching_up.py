"""Decisions that stand on a card and were never heard: found, applied once, marked as late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.chat.accounts import account_of
from bot.chat.incoming import Heard, Heeded, Incoming, found_event, reaction_prefix
from bot.chat.signals import Signal
from lifecycle.answers import CardPlace
from lifecycle.records import Card
from lifecycle.review import Decision, Review


@dataclass(frozen=True, slots=True)
class CardRead:
    """What stands on a card now: the accounts under each signal, our own left out.

    `seeds_there` says that our own signals stand under it; where they are gone, somebody cleared
    the card and nothing is concluded from what is missing.
    """

    on: Mapping[Signal, frozenset[str]]
    seeds_there: bool = True


class CatchingUp:
    """Applies what was found on cards (design section 6). Authority is judged at this moment."""

    def __init__(self, incoming: Incoming) -> None:
        self.incoming = incoming

    async def apply(
        self, card: Card, read: CardRead, *, gap_until_ms: int | None = None
    ) -> Sequence[Heeded]:
        """Apply what stands on `card`, ❌ first; return what it led to.

        `gap_until_ms`: nothing was heard for a time that ended then, so that a ✅ older than that
        and gone from the card counts as taken back.
        """
        reviews = await self._reviews(card)
        found: list[Heeded] = []
        for signal in (Signal.STOP, Signal.APPROVE):
            found += await self._found(card, signal, read.on.get(signal, frozenset()), reviews)
        if gap_until_ms is not None and read.seeds_there:
            gone = _gone(card, read.on.get(Signal.APPROVE, frozenset()), reviews, gap_until_ms)
            found += await self._taken_back(card, gone, read)
        return found

    async def _found(
        self, card: Card, signal: Signal, accounts: Iterable[str], reviews: Sequence[Review]
    ) -> list[Heeded]:
        heeded: list[Heeded] = []
        for account in sorted(accounts):
            person = self.incoming.sender(account).id
            if signal is Signal.APPROVE and _approves(reviews, person):
                continue
            before = sum(review.person == person for review in reviews)
            heard = Heard(
                card.message_ids[-1],
                signal,
                account,
                found_event(account, signal, before),
                found_late=True,
            )
            came = await self.incoming.added(heard)
            if came is not None:
                heeded.append(came)
        return heeded

    async def _taken_back(self, card: Card, people: Iterable[str], read: CardRead) -> list[Heeded]:
        heeded: list[Heeded] = []
        for person in people:
            policy, surface = self.incoming.workflow.policy, self.incoming.surface
            account = account_of(policy, surface, person)
            if account is None or account in read.on.get(Signal.APPROVE, frozenset()):
                continue
            sender = self.incoming.sender(account)
            place = CardPlace(surface, card.message_ids[-1])
            reply = await self.incoming.workflow.take_back(card.proposal_id, sender, card=place)
            heeded.append(Heeded(sender, card, reply))
        return heeded

    async def _reviews(self, card: Card) -> Sequence[Review]:
        store = self.incoming.workflow.world.store
        return await store.read(lambda tx: tx.reviews.of(card.proposal_id))


def _approves(reviews: Sequence[Review], person: str | None) -> bool:
    return any(
        review.person == person and review.counts and review.decision is Decision.APPROVE
        for review in reviews
    )


def _gone(
    card: Card, standing: frozenset[str], reviews: Sequence[Review], until_ms: int
) -> list[str]:
    """Return whose ✅ was given by an emoji on this very message before the gap ended."""
    prefix = reaction_prefix(card.message_ids[-1])
    return list(
        dict.fromkeys(
            review.person
            for review in reviews
            if review.counts
            and review.decision is Decision.APPROVE
            and review.at_ms < until_ms
            and (review.event_id or "").startswith(prefix)
        )
    )
