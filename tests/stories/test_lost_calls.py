"""Calls that are under way by their rows and that nobody makes: people hear of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Attention, Outcome
from lifecycle.state import State
from tests.builders import MAIL
from tests.fakes.tools import waiting_for
from tests.world import World

_SEND = "send-email"
_LOST = "Signoff has lost sight of this call, and cannot say whether it was made."


def loses_its_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store take the beginning of p1, and say that it took nothing."""
    real, lost = world.store.write, []

    async def write(unit: Any) -> Any:
        value = await real(unit)
        if "execute" in await world.trail("p1") and not lost:
            lost.append(unit)
            raise StoreUnavailable("the connection to the store was lost")
        return value

    monkeypatch.setattr(world.store, "write", write)


async def waits_a_minute(world: World) -> None:
    for _ in range(6):
        await world.passes(seconds=10)


async def is_begun_unseen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.submits(MAIL, proposal_id="p1")
    loses_its_answer(world, monkeypatch)
    assert not (await world.approves("ana", "p1")).done
    assert (await world.proposal("p1")).state is State.EXECUTING
    assert world.tool(_SEND).verbs() == []


async def test_a_call_that_nobody_makes_calls_people(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_begun_unseen(world, monkeypatch)
    await waits_a_minute(world)
    lost = await world.proposal("p1")
    assert lost.attention is Attention.OUTCOME_UNKNOWN
    assert lost.attention_why.startswith(_LOST)
    assert world.tool(_SEND).verbs() == []


async def test_a_stop_of_a_call_that_nobody_makes_is_carried_out_once_it_is_settled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_begun_unseen(world, monkeypatch)
    assert (await world.rejects("ben", "p1")).done
    await waits_a_minute(world)
    await world.workflow.settle("p1", world.sender("ana"), happened=True)
    await world.workflow.idle()
    assert (await world.proposal("p1")).state is State.ROLLED_BACK


async def test_a_call_that_nobody_makes_is_made_where_that_does_no_harm(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[_SEND] = replace(tools[_SEND], idempotent=True)
    await world.adopts(tools=tools)
    await is_begun_unseen(world, monkeypatch)
    await waits_a_minute(world)
    assert [call.idempotency_key for call in world.tool(_SEND).calls] == ["p1:execute:1"]
    begun = await world.proposal("p1")
    assert begun.execution is not None
    assert begun.execution.outcome is Outcome.DONE


async def test_a_call_that_takes_long_is_not_lost(world: World) -> None:
    gate = asyncio.Event()
    world.tool(_SEND).on["execute"] = waiting_for(gate)
    await world.submits(MAIL, proposal_id="p1")
    await world.workflow.approve("p1", world.sender("ana"))
    for _ in range(6):
        world.clock.advance(10)
        await world.workflow.recover()
    under_way = await world.proposal("p1")
    assert (under_way.attention, under_way.state) == (None, State.EXECUTING)
    gate.set()
    await world.workflow.idle()
    assert world.tool(_SEND).verbs() == ["execute"]


async def test_a_machine_that_sleeps_loses_no_call(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_begun_unseen(world, monkeypatch)
    await world.workflow.recover()
    world.clock.advance(36_000)
    await world.workflow.recover()
    assert (await world.proposal("p1")).attention is None
