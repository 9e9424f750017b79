"""What a surface heard, brought to the workflow: signals, reasons, clearings, deletions.

Platform-neutral: an adapter says what happened, here it is decided which verb that is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

from bot.chat.accounts import sender_of
from bot.chat.signals import Signal
from bot.chat.standing import Standing
from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.door import record
from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Card
from lifecycle.review import Decision
from lifecycle.workflow import Workflow

#: A signal may come before the post has answered; so long its card is looked for, in seconds.
_EARLY_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
#: Refusals after which the reaction itself is taken off: this account may not decide here.
MAY_NOT: Final = frozenset({"not_a_reviewer", "own_proposal", "owner_of_agent"})
#: Refusals that are nobody's fault: the reaction stands and is looked at again.
_COUNTS_LATER: Final = frozenset({"audit_unavailable", "still_running"})


@dataclass(frozen=True, slots=True)
class Heard:
    """A signal on a message. `variant` tells apart what one account may have twice (a super
    reaction, a skin tone); `event` is the platform's id of this event, unique on its message."""

    message_id: str
    signal: Signal
    account: str
    event: str
    variant: str = ""
    found_late: bool = False

    @property
    def event_id(self) -> str:
        """The id under which the store remembers it; it names the message it stood on."""
        return f"{reaction_prefix(self.message_id)}{self.event}"


@dataclass(frozen=True, slots=True)
class Heeded:
    """What came of a signal; the card it was on, and what its sender is to be told."""

    sender: Sender
    card: Card
    reply: Reply

    @property
    def unwanted(self) -> bool:
        """True where the reaction is to be taken off: its account may not decide here."""
        return self.reply.code in MAY_NOT


def reaction_prefix(message_id: str) -> str:
    """Return how event ids of signals on this message begin."""
    return f"reaction:{message_id}:"


class Incoming:
    """The events of one surface on their way to the law. Nothing here raises for what was heard."""

    def __init__(self, workflow: Workflow, surface: str) -> None:
        self.workflow = workflow
        self.surface = surface
        self.standing = Standing()

    def sender(
        self, account: str, *, event_id: str | None = None, place: str | None = None
    ) -> Sender:
        """Return who an account of this surface is."""
        return sender_of(
            self.workflow.policy, self.surface, account, event_id=event_id, place=place
        )

    async def card_in(self, message_id: str) -> Card | None:
        """Return the card that stands, or stood, in this message."""
        return await self.workflow.world.store.read(
            lambda tx: tx.cards.find(self.surface, message_id)
        )

    async def added(self, heard: Heard, *, ours: bool | None = False) -> Heeded | None:
        """Give a signal its effect; None where it stands on no card or was heard before.

        `ours` says whether the bot wrote the message, None where the platform does not tell. A
        signal on a message of ours that is no card is an audit row.
        """
        if not self.standing.add(heard.message_id, heard.account, heard.signal, heard.variant):
            return None
        card = await self._card_soon(heard.message_id, wait=ours is not False)
        sender = self.sender(heard.account, event_id=heard.event_id)
        if card is None:
            self._not_standing(heard)
            if ours:
                await self.workflow.note_ignored("", sender, "unknown_proposal")
            return None
        reply = await self._decided(heard, card, sender)
        if reply.code in _COUNTS_LATER:
            self._not_standing(heard)
        if reply.code == "duplicate_event":
            return None
        if reply.code is not None and reply.code not in _COUNTS_LATER and not heard.found_late:
            await self._remember_refused(heard)
        return Heeded(sender, card, reply)

    async def removed(self, heard: Heard) -> Heeded | None:
        """Take a ✅ back where its own account removed it and it counted; else nothing."""
        left = self.standing.drop(heard.message_id, heard.account, heard.signal, heard.variant)
        if left or heard.signal is not Signal.APPROVE:
            return None
        card = await self.card_in(heard.message_id)
        sender = self.sender(heard.account, event_id=heard.event_id)
        if card is None or not await self._approved_here(card, sender):
            return None
        place = CardPlace(self.surface, heard.message_id)
        reply = await self.workflow.take_back(card.proposal_id, sender, card=place)
        return Heeded(sender, card, reply)

    async def cleared(self, message_id: str, signal: Signal | None = None) -> Card | None:
        """Note that reactions were cleared by somebody; no review changes. None: not on a card."""
        self.standing.clear(message_id, signal)
        card = await self.card_in(message_id)
        if card is None or card.message_ids[-1] != message_id:
            return None
        await self._noted(card.proposal_id, "signals_cleared", {"message": message_id})
        return card

    async def deleted(self, message_id: str) -> Card | None:
        """Note that a card was deleted and have it posted again; no review changes."""
        self.standing.clear(message_id, None)
        card = await self.card_in(message_id)
        if card is None or card.message_ids[-1] != message_id:
            return None
        await self._noted(card.proposal_id, "card_deleted", {"message": message_id}, lost=card)
        return card

    async def reasoned(self, message_id: str, sender: Sender, words: str) -> Reply | None:
        """Take a reply to a card as the reason of a bare ❌; None where none is waited for."""
        card = await self.card_in(message_id)
        if card is None or not words.strip() or sender.identity is None:
            return None
        proposal = await self._proposal(card.proposal_id)
        now_ms = self.workflow.world.clock.now_ms()
        due_ms = proposal.reason_due_ms if proposal is not None else None
        mine = proposal is not None and proposal.decided_by == sender.identity
        if due_ms is None or now_ms >= due_ms or not mine:
            return None
        return await self.workflow.give_reason(card.proposal_id, sender, words.strip())

    async def misplaced(self, sender: Sender, code: str = "wrong_place") -> None:
        """Write the audit row of a command or a signal that came where none counts."""
        await self.workflow.note_ignored("", sender, code)

    # -- inside ---------------------------------------------------------------------------

    async def _decided(self, heard: Heard, card: Card, sender: Sender) -> Reply:
        place = CardPlace(self.surface, heard.message_id)
        late = heard.found_late
        match heard.signal:
            case Signal.APPROVE:
                return await self.workflow.approve(
                    card.proposal_id, sender, card=place, found_late=late
                )
            case Signal.STOP:
                return await self.workflow.reject(
                    card.proposal_id, sender, card=place, found_late=late
                )
            case _:
                assert_never(heard.signal)

    def _not_standing(self, heard: Heard) -> None:
        self.standing.drop(heard.message_id, heard.account, heard.signal, heard.variant)

    async def _card_soon(self, message_id: str, *, wait: bool) -> Card | None:
        """Find the card; on a message of ours wait a moment for the post to be written down."""
        card = await self.card_in(message_id)
        for pause_s in _EARLY_S if wait else ():
            if card is not None or not await self._posting():
                return card
            await asyncio.sleep(pause_s)
            card = await self.card_in(message_id)
        return card

    async def _posting(self) -> bool:
        """Say whether some card of this surface is on its way."""
        far_ms = self.workflow.world.clock.now_ms() + 86_400_000
        stale = await self.workflow.world.store.read(
            lambda tx: tx.cards.stale(self.surface, far_ms, 1)
        )
        return bool(stale)

    async def _approved_here(self, card: Card, sender: Sender) -> bool:
        reviews = await self.workflow.world.store.read(lambda tx: tx.reviews.of(card.proposal_id))
        return any(
            review.person == sender.id and review.counts and review.decision is Decision.APPROVE
            for review in reviews
        )

    async def _remember_refused(self, heard: Heard) -> None:
        """What was refused live is not found, and refused, again."""
        found = replace(heard, event=found_event(heard.account, heard.signal, 0))
        now_ms = self.workflow.world.clock.now_ms()
        await self.workflow.world.write(
            lambda tx: tx.flags.first_time(self.surface, found.event_id, now_ms)
        )

    async def _proposal(self, proposal_id: str) -> Proposal | None:
        return await self.workflow.world.store.read(lambda tx: tx.proposals.get(proposal_id))

    async def _noted(
        self, proposal_id: str, kind: str, details: dict[str, Any], lost: Card | None = None
    ) -> None:
        moment = self.workflow.world.moment()

        def unit(tx: Transaction) -> None:
            _note(tx, moment, proposal_id, kind, details | {"surface": self.surface})
            if lost is not None:
                _want_again(tx, lost)

        await self.workflow.world.write(unit)


def found_event(account: str, signal: Signal, reviews: int) -> str:
    """Return the event of a signal found standing on a card; `reviews` of this person came before.

    The same finding is the same event, so that each counts once however often a card is read.
    """
    return f"found:{account}:{signal.slack_name}:{reviews}"


def _note(
    tx: Transaction, moment: Moment, proposal_id: str, kind: str, details: dict[str, Any]
) -> None:
    record(tx, moment, kind, None, proposal=tx.proposals.get(proposal_id), details=details)


def _want_again(tx: Transaction, card: Card) -> None:
    """Make the card due: its edit finds it gone, and it is posted again."""
    fresh = tx.cards.get(card.proposal_id, card.surface)
    if fresh is not None:
        tx.cards.put(replace(fresh, shown_version=0, delivered=False, retry_at_ms=0))
