"""What people do on cards, and agents with their permits: more of what may happen to a bot."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.found import Found
from bot.chat.hearing.incoming import Incoming
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.moderated import card_deleted
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.signals import Signal
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.clockwork.restored import bring_back
from lifecycle.permit import unverified
from lifecycle.records import Card
from lifecycle.review import Decision
from tests.stories.any_channels import SURFACES, Channels
from tests.stories.any_deeds import Deeds

_PEOPLE = ("ana", "ben", "dee", "ana", "ben", "olga", "cal")


class Hands(Deeds):
    """Deeds on cards and of agents."""

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        self.events = 0
        self.channels = Channels(seed)
        self.channels.law = lambda: self.law
        world.notifier = self.channels
        self.law.notifier = self.channels

    async def reacts(self) -> None:
        """Put ✅ or ❌ under a card, mostly under the one that counts; nobody may hear of it."""
        card, message_id = await self._some_card()
        if card is None:
            return
        person = self.chance.choice(_PEOPLE)
        signal = self._signal()
        channel = self.channels.channels[card.surface]
        channel.emoji.setdefault(message_id, set()).add((person, signal.name))
        if self.chance.random() < 0.3:
            return
        acting = self._incoming(card).reacted(
            self._on(card, person), message_id, signal, added=True, in_place=True
        )
        self._stopping(acting, card, signal)

    async def takes_off(self) -> None:
        card, message_id = await self._some_card()
        stands = self.channels.channels[card.surface].emoji.get(message_id) if card else None
        if card is None or not stands:
            return
        person, name = taken = self.chance.choice(sorted(stands))
        stands.discard(taken)
        if self.chance.random() < 0.8:
            self.begin(
                self._incoming(card).reacted(
                    self._on(card, person), message_id, Signal[name], added=False, in_place=True
                )
            )

    async def presses(self) -> None:
        card, message_id = await self._some_card()
        if card is not None:
            signal = self._signal()
            person = self.chance.choice(_PEOPLE)
            pressing = self._incoming(card).pressed(
                *(self._on(card, person), message_id, signal, self.chance.choice(("", "so"))),
                in_place=True,
            )
            self._stopping(pressing, card, signal)

    async def replies(self) -> None:
        """Say why, under a card: mostly those who stopped it do."""
        card, message_id = await self._some_card()
        if card is not None:
            named = card.proposal_id
            reviews = await self.world.store.read(lambda tx: tx.reviews.of(named))
            stopped = [each.person for each in reviews if each.decision is not Decision.APPROVE]
            person = self.chance.choice(stopped or _PEOPLE)
            words = "because of the price"
            self.begin(self._incoming(card).replied(self._on(card, person), message_id, words))

    async def deletes(self) -> None:
        """Take a message away; the bot may hear of it, or find it gone, and post another soon."""
        card, message_id = await self._some_card()
        if card is not None:
            self.channels.channels[card.surface].standing.discard(message_id)
            if self.chance.random() < 0.7:
                self.begin(card_deleted(self.world.workflow.world, card.surface, message_id))
                await self.turns_of_the_loop(60)
            if self.chance.random() < 0.7:
                await self.shows()

    async def catches_up(self) -> None:
        """Read what stands under a card now."""
        card, _ = await self._some_card()
        if card is None:
            return
        self.failures = 0
        channel, message_id = self.channels.channels[card.surface], card.message_ids[-1]
        stands = channel.emoji.get(message_id, set())
        found = Found(
            [self._on(card, who) for who, name in sorted(stands) if name == "APPROVE"],
            [self._on(card, who) for who, name in sorted(stands) if name == "STOP"],
            asked_ms=self.world.clock.now_ms(),
        )
        before = {who for who, name in stands if name == "STOP"}
        if message_id in channel.standing:
            self.begin(self._caught_up(card, found, before))

    async def _caught_up(self, card: Card, found: Found, stopping: set[str]) -> None:
        try:
            await CatchingUp(self.world.workflow, card.surface, Lanes(whole=True)).apply(
                card, found
            )
        except SurfaceFailed:
            return

    async def redeems(self) -> None:
        """Let leila use a permit that she was given, or was given before."""
        permits = [token for each in self.channels.channels.values() for token in each.permits]
        if permits:
            token = self.chance.choice(permits[-3:])
            document = self.documents[unverified(token).proposal_id]
            parameters = document["parameters"] if self.chance.random() < 0.9 else {}
            leila = self._at(self.world.sender("leila"))
            self.begin(self.world.workflow.redeem(token, parameters, leila))

    async def reports(self) -> None:
        outcome = self.chance.choice(("done", "done", "failed", "unknown"))
        leila, receipt = (
            self._at(self.world.sender("leila")),
            {"affected_records": self.chance.randint(1, 9)},
        )
        self.begin(self.world.workflow.report(self.some(), leila, outcome, receipt))

    async def orchestrates(self) -> None:
        """Let the orchestrator decide by hand, where there is one."""
        verb = self.chance.choice((self.world.workflow.approve, self.world.workflow.reject))
        self.begin(verb(self.some(), self.world.sender("nour"), "fine"))

    async def leaves(self) -> None:
        """Let somebody leave the chats, or come back, or let nobody know."""
        gone = frozenset(self.chance.sample(("ana", "ben", "dee"), self.chance.choice((0, 0, 1))))
        self.channels.lost, self.channels.unread = self.chance.choice(
            ((gone, frozenset()), (frozenset(), gone))
        )

    async def withdraws(self) -> None:
        self.begin(self.world.workflow.withdraw(self.some(), self.world.sender("leila")))

    async def brings_back(self) -> None:
        """End, and begin on a copy that was made in that very moment."""
        await self.ends()
        moment = self.law.moment()
        await self.world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
        await self.begins_anew()

    def _signal(self) -> Signal:
        return Signal.APPROVE if self.chance.random() < 0.85 else Signal.STOP

    def _stopping(self, acting: Coroutine[Any, Any, Any], card: Card, signal: Signal) -> None:
        stops = signal is Signal.STOP
        self.begin(acting, lambda: stops and self.stopped.add(card.proposal_id))

    def _incoming(self, card: Card) -> Incoming:
        return Incoming(self.world.workflow, card.surface)

    def _on(self, card: Card, person: str) -> Sender:
        self.events += 1
        policy = self.world.workflow.policy
        account = policy.people[person].accounts.get(card.surface, "unknown")
        return sender_of(policy, card.surface, account, event_id=f"event-{self.events}")

    def _at(self, sender: Sender) -> Sender:
        return replace(sender, surface=self.chance.choice((*SURFACES, "terminal")))

    async def _some_card(self) -> tuple[Card | None, str]:
        """Return a card that stands somewhere with one of its messages, mostly the last."""
        named = self.some()
        cards = await self.world.store.read(lambda tx: tx.cards.of(named))
        stands = [card for card in cards if card.message_ids]
        if not stands:
            return None, ""
        card = self.chance.choice(stands)
        last = self.chance.random() < 0.85
        return card, card.message_ids[-1] if last else self.chance.choice(card.message_ids)
