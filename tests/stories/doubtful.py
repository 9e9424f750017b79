"""Calls of which nobody knows what became of them, and how that came to be so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.ports import ToolFailed
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising
from tests.stories.test_restart import dies_in, forget_calls
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
UNREACHED = ToolFailed("the other side could not be reached")


async def dies_while(world: World, name: str, document: Mapping[str, Any]) -> str:
    """Approve what an idempotent tool does, and end the process in the middle of it."""
    tools = dict(world.workflow.policy.tools)
    await world.adopts(tools=tools | {name: replace(tools[name], idempotent=True)})
    await dies_in(world, "execute", name)
    proposal_id = (await world.submits(document)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await asyncio.sleep(0)
    assert world.tool(name).verbs() == ["execute"]
    await forget_calls(world)
    return proposal_id


async def unknown_commit(world: World) -> str:
    """Return the id of a mail of which nobody knows whether its commit happened."""
    world.tool(SEND).on["commit"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.passes(minutes=16)
    return proposal_id


async def unknown_deployment(world: World, **changes: object) -> str:
    """Return the id of a deployment of which nobody knows whether it happened."""
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD, **changes)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.tool(DEPLOY).on.clear()
    return proposal_id
