"""The law with fake surfaces, on which the tests of delivery show cards and say messages."""

from __future__ import annotations

import json
from typing import Any

from bot.chat.showing.broadcast import Broadcast
from bot.chat.showing.delivery import Delivery
from bot.storage.memory import MemoryStore
from lifecycle.policy import Policy
from lifecycle.records import Card
from tests.fakes.surface import FakeSurface
from tests.world import World, a_world


class Stage:
    """The law with fake surfaces in place of the plain notifier."""

    def __init__(self, *surfaces: FakeSurface, policy: Policy | None = None) -> None:
        self.world: World = a_world(MemoryStore(), policy)
        self.broadcast = Broadcast(surfaces)
        self.world.workflow.world.notifier = self.broadcast
        self.broadcast.attach(self.world.workflow.world)

    def delivery(self, name: str = "discord") -> Delivery:
        return self.broadcast.delivery(name)

    async def submits(
        self, document: dict, proposal_id: str = "p1", *, by: str = "leila", **changes: Any
    ) -> str:
        sender = self.world.sender(by)

        document = document | {"proposal_id": proposal_id, "actor": by} | changes
        raw = json.dumps(document).encode()
        answer = await self.world.workflow.submit(raw, sender)
        assert answer.proposal_id is not None, answer
        return answer.proposal_id

    async def card(self, surface: str = "discord", proposal_id: str = "p1") -> Card:
        card = await self.world.store.read(lambda tx: tx.cards.get(proposal_id, surface))
        assert card is not None
        return card
