"""A refund that its agent carries out itself: approved, and begun."""

from __future__ import annotations

from typing import Any

from tests.builders import REFUND
from tests.world import World

REFUNDS = "issue-refund"


async def the_permit(world: World) -> str:
    """Return the permit that was handed out last."""
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return str([m.body["permit"] for m in messages if m.kind == "permit"][-1])


async def permitted(world: World, **changes: Any) -> str:
    """Return the id of a refund whose permit leila holds."""
    proposal_id = (await world.submits(REFUND, **changes)).proposal_id or ""
    await world.approves("ana", proposal_id, "checked")
    return proposal_id


async def begun(world: World) -> str:
    """Return the id of a refund that leila has begun."""
    await permitted(world)
    return await begun_after(world)


async def begun_after(world: World) -> str:
    """Redeem the permit that leila holds."""
    reply = await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"], world.sender("leila")
    )
    assert reply.done
    return reply.proposal_id or ""
