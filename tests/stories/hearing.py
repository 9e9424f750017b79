"""What waits in an inbox that does not come to it, and a call that a death cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lifecycle.heard import HeardStop, note
from lifecycle.ports import Call
from tests.builders import MAIL
from tests.fakes.tools import waiting_for
from tests.world import World

SEND = "send-email"
WINDOW_S = 900


async def heard(world: World, surface: str = "terminal", **of_what: Any) -> HeardStop:
    """Take a stop into the inbox of a surface, which does not come to it."""
    stop = HeardStop(f"{surface}:e1", surface, world.clock.now_ms(), **of_what)
    placed = await world.store.write(lambda tx: note(tx, stop))
    world.workflow.world.heard.add(placed)
    return placed


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
    for task in set(world.workflow.world.tasks):
        task.cancel()
