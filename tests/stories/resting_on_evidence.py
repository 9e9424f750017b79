"""A mail that rests on evidence."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.fakes.tools import raising, waiting_for
from tests.world import World

SEND = "send-email"
CONDITION = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}
TAKEN_BACK = ["execute", "roll_back"]


class Mail:
    """A mail that rests on evidence; its tool is at work, or was cut off, until `is_answered`."""

    def __init__(self, world: World, how: str) -> None:
        """`how` is running or unknown."""
        self.world, self.how, self.gate = world, how, asyncio.Event()
        cut_off = raising(RuntimeError("cut off"))
        self.doing = waiting_for(self.gate) if how == "running" else cut_off

    async def is_sent(self, *also: str) -> None:
        """Approve it while its evidence, e1 and what it rests on `also`, is good."""
        rests_on = ("e1", *also)
        for evidence_id in rests_on:
            await self.world.observes(True, evidence_id)
        self.world.tool(SEND).on["execute"] = self.doing
        conditions = [CONDITION | {"evidence_ref": evidence_id} for evidence_id in rests_on]
        await self.world.submits(MAIL, proposal_id="m1", preconditions=conditions)
        await self.world.workflow.approve("m1", self.world.sender("ana"))
        await asyncio.sleep(0.01)
        self.world.clock.advance(1)

    async def is_answered(self) -> None:
        """Let its tool end, or a person say that it did."""
        self.gate.set()
        await self.world.workflow.idle()
        if self.how == "unknown":
            settled = self.world.workflow.settle("m1", self.world.sender("ana"), happened=True)
            assert (await settled).done
        await self.world.workflow.recheck()
        await self.world.workflow.idle()


async def is_taken_back(world: World) -> None:
    ended = await world.proposal("m1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert world.tool(SEND).verbs() == TAKEN_BACK


async def has_no_window(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[SEND] = replace(tools[SEND], tier=Tier.CONFIRM, window_s=None)
    await world.adopts(tools=tools)
