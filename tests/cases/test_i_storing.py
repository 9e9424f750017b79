"""Case I05: what could not be stored did not happen, and nothing happens before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.answers import Reply
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Proposal, Verb
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.world import World

DEPLOY = "production-deploy"
SHORT = PROD["parameters"]
#: Too long for Sentinel to answer in the unit that asks.
LONG = SHORT | {"notes": "Nothing else changes. " * 500}


class FailingStore:
    """Fails the writes whose number is in `fail`, counted from the moment it was put in place."""

    def __init__(self, store: Any, *fail: int) -> None:
        self._store, self._fail, self.writes = store, fail, 0

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        self.writes += 1
        if self.writes in self._fail:
            raise StoreUnavailable("disk full")
        return await self._store.write(unit)

    async def read(self, view: Callable[[Any], Any]) -> Any:
        return await self._store.read(view)

    async def close(self) -> None:
        await self._store.close()


@pytest.mark.parametrize(("parameters", "failing"), [(SHORT, 1), (LONG, 1), (LONG, 2)])
async def test_I05_what_could_not_be_stored_did_not_happen(
    world: World, parameters: dict[str, str], failing: int
) -> None:
    await world.submits(PROD, proposal_id="p1", parameters=parameters)
    world.workflow.world.store = FailingStore(world.store, failing)  # type: ignore[assignment]

    reply = await world.workflow.approve("p1", world.sender("ana"))
    await world.workflow.idle()

    assert isinstance(reply, Reply)
    assert world.tool(DEPLOY).calls == []
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    world.workflow.world.store = world.store
    await world.restarts()
    await world.approves("ana", "p1")
    await world.keeps_house()
    assert world.tool(DEPLOY).verbs() == ["execute"]


@pytest.mark.parametrize("failures", [1, 3])
async def test_I05_an_answer_that_could_not_be_stored_is_kept_until_it_can(
    world: World, failures: int
) -> None:
    await world.submits(PROD, proposal_id="p1")
    failing = range(2, 2 + failures)  # the first write approves and begins
    world.workflow.world.store = FailingStore(world.store, *failing)  # type: ignore[assignment]
    slept = 0

    await world.workflow.approve("p1", world.sender("ana"))
    while world.workflow.world.background.tasks:
        await asyncio.sleep(0.001)
        if world.clock.sleeping:
            assert (await world.proposal("p1")).state is State.EXECUTING
            world.clock.advance(60)
            slept += 1

    assert slept == failures
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_I05_near_the_end_an_answer_is_tried_to_be_stored_every_moment(
    world: World,
) -> None:
    """The disk was freed and the bot restarted: what the tool had answered was lost in a pause."""
    await world.submits(PROD, proposal_id="p1")
    store = FailingStore(world.store, *range(2, 8))
    world.workflow.world.store = store  # type: ignore[assignment]
    await world.workflow.approve("p1", world.sender("ana"))
    while store.writes < 7:
        world.clock.advance(60)
        await asleep(world)

    ending = asyncio.create_task(world.workflow.shut_down(2))
    await asyncio.sleep(0)
    world.clock.advance(0.5)
    await ending

    assert (await world.proposal("p1")).state is State.COMPLETED


async def asleep(world: World) -> None:
    """Let others work until somebody waits for the clock."""
    for _ in range(5_000):
        if world.clock.sleeping:
            return
        await asyncio.sleep(0.001)
    raise TimeoutError


class BlindStore(FailingStore):
    """Cannot be read while it is `blind`, which begins once a roll back is claimed."""

    blind = False

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        value = await super().write(unit)
        found = await self._store.read(lambda tx: tx.proposals.get("p1"))
        self.blind = found.execution.verb is Verb.ROLL_BACK
        return value

    async def read(self, view: Callable[[Any], Any]) -> Any:
        if self.blind:
            raise StoreUnavailable("The database cannot be read: disk I/O error.")
        return await super().read(view)


async def test_I05_what_is_taken_back_waits_for_a_store_that_cannot_be_read_for_a_moment(
    world: World,
) -> None:
    """It was said that somebody had changed the database, and the draft stayed where it was."""
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    store = BlindStore(world.store)
    world.workflow.world.store = store  # type: ignore[assignment]

    await world.workflow.reject("p1", world.sender("ben"), "wrong amount")
    await asleep(world)
    assert world.tool("send-email").verbs() == ["execute"]
    store.blind = False
    world.clock.advance(1)
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await world.proposal("p1")).state is State.ROLLED_BACK


async def test_I05_the_tool_is_called_only_once_its_start_is_on_disk(world: World) -> None:
    seen: list[Proposal] = []

    async def looks(call: Any) -> dict[str, Any]:
        seen.append(await world.proposal(call.proposal_id))
        return {}

    for verb in ("execute", "commit"):
        world.tool("send-email").on[verb] = looks
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=15)

    assert [p.execution and (p.execution.verb, p.execution.outcome) for p in seen] == [
        ("execute", "running"),
        ("commit", "running"),
    ]
