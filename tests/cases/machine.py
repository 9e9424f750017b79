"""A machine whose clocks are set and begun anew, and what stands in the store after that."""

from __future__ import annotations

from typing import Any

from bot.chat.commands.status import status_reply
from bot.clocks.clock import SystemClock
from bot.clocks.resumed import resume_clock
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS
from tests.world import World

MINUTE_MS = 60_000
HOUR = 60


class Machine:
    """A wall clock that is set now and then, and a boot clock that begins anew with each boot."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wall_ms, self.passed_ms, self.boot = NOW_MS, 77 * MINUTE_MS, "boot 1"

    async def passes(self, minutes: float) -> None:
        """Let time pass, then do what the jobs do."""
        self.wall_ms += round(minutes * MINUTE_MS)
        self.passed_ms += round(minutes * MINUTE_MS)
        await self.world.keeps_house()

    def is_set(self, minutes: float) -> None:
        self.wall_ms += round(minutes * MINUTE_MS)

    def reboots(self, boot: str = "boot 2") -> None:
        self.boot, self.passed_ms = boot, 10_000

    async def starts(self) -> None:
        """Begin a new process over the same store, by a clock of its own."""
        clock = SystemClock(lambda: self.wall_ms * 1_000_000, lambda: self.passed_ms * 1_000_000)
        self.world.clock = clock  # type: ignore[assignment]
        self.world.workflow.world.clock = clock
        await resume_clock(self.world.workflow.world, self.boot)
        await self.world.restarts()


async def a_machine(world: World) -> Machine:
    """Return a machine on which the bot runs for the first time."""
    machine = Machine(world)
    await machine.starts()
    return machine


async def opens(world: World, proposal_id: str = "p1", **changes: Any) -> None:
    parameters = MAIL["parameters"] | {"subject": f"Invoice {proposal_id}"}
    await world.submits(MAIL, proposal_id=proposal_id, parameters=parameters, **changes)
    await world.approves("ana", proposal_id)
    assert await state_of(world, proposal_id) is State.EXECUTING


async def state_of(world: World, proposal_id: str = "p1") -> State:
    return (await world.proposal(proposal_id)).state


async def closes_at_ms(world: World, proposal_id: str = "p1") -> int:
    execution = (await world.proposal(proposal_id)).execution
    assert execution is not None
    return execution.window_closes_at_ms or 0


async def told(world: World, about: str = "clock_moved:") -> list[str]:
    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [str(m.body["text"]) for m in waiting if m.key.startswith(about)]


async def moved(world: World) -> list[Any]:
    return [entry["proposal_id"] for entry in await world.audit("moved_along")]


async def status(world: World) -> str:
    policy, now_ms = world.workflow.policy, world.clock.now_ms()
    reply = await world.store.read(lambda tx: status_reply(tx, policy, now_ms))
    return "\n".join(str(block) for block in reply.blocks)
