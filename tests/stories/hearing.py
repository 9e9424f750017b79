"""What waits in an inbox that does not come to it, and a call that a death cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.heard import HeardStop, note
from lifecycle.ports import Call
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import waiting_for
from tests.world import World

SEND = "send-email"
WINDOW_S = 900
#: A deadline is a minute away, and so long after it has passed.
BEFORE_S, AFTER_S = 60, 61


async def heard(world: World, surface: str = "terminal", **of_what: Any) -> HeardStop:
    """Take a stop into the inbox of a surface, which does not come to it."""
    stop = HeardStop(f"{surface}:e1", surface, world.clock.now_ms(), **of_what)
    placed = await world.store.write(lambda tx: note(tx, stop))
    world.workflow.world.heard.add(placed)
    return placed


async def worked(world: World, by: str = "ben") -> str | None:
    """Come to the stop of p1 that waited; return the code of what became of it."""
    reply = await world.workflow.reject("p1", world.sender(by, "e1"), "too risky")
    world.workflow.world.heard.drop("terminal:e1")
    await world.keeps_house()
    return reply.code


async def end_of(world: World, proposal_id: str = "p1") -> tuple[State, str | None]:
    """Return where a proposal stands, and why it ended."""
    proposal = await world.proposal(proposal_id)
    return proposal.state, proposal.reason


async def cut_off(world: World) -> None:
    """Let the process die while an idempotent mail, p1, is at work; nothing starts anew yet."""
    tools = dict(world.workflow.policy.tools)
    tools[SEND] = replace(tools[SEND], idempotent=True)
    await world.adopts(tools=tools)
    called = asyncio.Event()

    async def at_work(call: Call) -> Mapping[str, Any]:
        called.set()
        return await waiting_for(asyncio.Event())(call)

    world.tool(SEND).on["execute"] = at_work
    await world.submits(MAIL)
    await world.workflow.approve("p1", world.sender("ana"))
    await called.wait()
    for task in set(world.workflow.world.background.tasks):
        task.cancel()
