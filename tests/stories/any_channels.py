"""Two channels in memory, in which anything may happen to a card: the real delivery shows it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.chat.cards.content import CardContent
from bot.chat.showing.delivery import Delivery
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.ports import ProposalStore, StoreUnavailable
from lifecycle.records import Card, Message
from lifecycle.world import World
from tests.fakes.notifier import PlainNotifier

SURFACES = ("discord", "slack")


@dataclass
class Channel:
    """One surface. `emoji` are who stands under which message with what, `permits` those that
    agents were given here."""

    name: str
    chance: random.Random
    permits: list[str] = field(default_factory=list)
    standing: set[str] = field(default_factory=set)
    claims: dict[str, str] = field(default_factory=dict)
    emoji: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        stood = self.claims.get(claim)
        if stood in self.standing:
            return Posted(str(stood))
        message_id = f"{self.name}-{self.chance.getrandbits(64)}"
        self.claims[claim] = message_id
        self.standing.add(message_id)
        self._fails()
        return Posted(message_id)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        message_id = card.message_ids[-1]
        if message_id not in self.standing:
            raise CardGone("deleted")
        self._fails()
        return Posted(message_id)

    async def say(self, message: Message) -> str | None:
        self.permits += [message.body["permit"]] if message.kind == "permit" else []
        return None

    async def read_card(self, card: Card) -> bool:
        return True

    async def catch_up(self) -> int:
        return 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        return dict.fromkeys(people, True)

    def health(self) -> Sequence[str]:
        return ()

    def _fails(self) -> None:
        """Lose the answer to what was done."""
        if self.chance.random() < 0.15:
            raise SurfaceFailed("the answer is lost")


class Channels(PlainNotifier):
    """The notifier of both."""

    def __init__(self, seed: int) -> None:
        super().__init__(names=SURFACES)
        chance = random.Random(f"channels {seed}")
        self.channels = {name: Channel(name, chance) for name in SURFACES}
        self.law: Any = None

    async def deliver(self, store: ProposalStore, now_ms: int, *, full: bool = True) -> int:
        """Show what is due; a post whose answer was lost is due again."""
        return sum([await self._drained(name) for name in self.names])

    async def _drained(self, name: str) -> int:
        world: World = self.law()
        try:
            return await Delivery(world, self.channels[name]).drain()
        except StoreUnavailable:
            return 0
