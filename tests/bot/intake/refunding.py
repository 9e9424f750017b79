"""A refund that is governed by the Python client, and people who decide upon it."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.client import Signoff, governed
from tests.world import World

TARGET = {"resource_type": "payment", "resource_id": "order-17", "domain": "shop.example"}


async def decided(world: World, person: str, *, approve: bool = True) -> str:
    """Wait until one proposal waits for people, then decide it."""
    while True:
        waiting = await world.store.read(lambda tx: tx.proposals.waiting(0, 1))
        if waiting and waiting[0].verdict is not None:
            break
        await asyncio.sleep(0.01)
    await world.shows()
    proposal_id = waiting[0].proposal_id
    decide = world.approves if approve else world.rejects
    await decide(person, proposal_id, "seen")
    return proposal_id


def a_refund(signoff: Signoff, **options: Any):
    """Return a governed refund, and the list of its calls that really ran."""
    calls: list[tuple[str, str]] = []

    @governed("issue-refund", signoff=signoff, target=TARGET, **options)
    async def refund(amount: str, currency: str = "USD") -> dict[str, str]:
        """Pay back what the customer is owed for a broken parcel."""
        calls.append((amount, currency))
        return {"refund": "r-1"}

    return refund, calls
