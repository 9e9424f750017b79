"""Freeze, held stops and what is staged: nothing moves on by a side door."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising, waiting_for
from tests.world import World

SEND = "send-email"


async def auto_approving(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))


async def mailing_without_window(world: World) -> None:
    """Make the mail tool CONFIRM: deferred, and no window to wait for."""
    tools = dict(world.workflow.policy.tools)
    tools[SEND] = replace(tools[SEND], tier=Tier.CONFIRM, window_s=0)
    await world.adopts(tools=tools)


async def test_while_frozen_nobody_ends_a_window_early(world: World) -> None:
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.freeze("incident 7", world.sender("ana"))

    reply = await world.approves("ana", proposal_id)

    assert reply.code == "frozen"
    assert world.tool(SEND).verbs() == ["execute"]
    await world.workflow.thaw(world.sender("ana"))
    await world.approves("ana", proposal_id)
    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_while_a_stop_waits_in_the_spool_nobody_ends_the_window_early(world: World) -> None:
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.workflow.world.held.add(proposal_id)

    await world.approves("ana", proposal_id)

    assert world.tool(SEND).verbs() == ["execute"]


async def test_a_freeze_during_the_run_keeps_a_stage_without_window_until_thaw(
    world: World,
) -> None:
    await mailing_without_window(world)
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await world.workflow.freeze("incident 7", world.sender("ana"))
    gate.set()
    await world.workflow.idle()
    await world.passes(minutes=20)
    assert world.tool(SEND).verbs() == ["execute"]

    await world.restarts()
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()

    sent = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute", "commit"]
    assert (sent.state, sent.reason) == (State.COMPLETED, "tool_succeeded")


async def test_a_stage_that_waits_for_thaw_can_be_taken_back(world: World) -> None:
    await mailing_without_window(world)
    gate = asyncio.Event()
    world.tool(SEND).on["execute"] = waiting_for(gate)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ana"))
    await world.workflow.freeze("incident 7", world.sender("ana"))
    gate.set()
    await world.workflow.idle()

    await world.rejects("ben", proposal_id)

    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_held_commit_is_not_tried_again(world: World) -> None:
    world.tool(SEND).on["commit"] = raising(ToolFailed("no server"))
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.passes(minutes=15)
    assert (await world.proposal(proposal_id)).attention is Attention.COMMIT_FAILED
    world.workflow.world.held.add(proposal_id)

    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    assert not reply.done
    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_a_stop_spooled_while_an_opening_waits_for_the_store_still_holds_it(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.approves("ana", proposal_id)
    await world.workflow.thaw(world.sender("ana"))
    real = world.store.write

    async def slow(unit):  # type: ignore[no-untyped-def]
        world.workflow.world.held.add(proposal_id)  # the spool took a stop in the meantime
        return await real(unit)

    world.store.write = slow  # type: ignore[method-assign]
    await world.workflow.gatekeeper.open(proposal_id)
    await world.workflow.idle()

    assert world.tool("production-deploy").calls == []


async def test_a_replay_lets_go_of_its_own_proposal_only(world: World) -> None:
    first = (await world.submits(PROD)).proposal_id or ""
    world.workflow.world.held.add("p-unspooled")
    act = {"proposal_id": first, "surface": "terminal", "kind": "person", "id": "ben"}
    world.spool.keep(act | {"reason": "stop"})
    world.workflow.world.held.add(first)

    await world.workflow.recover()

    assert world.workflow.world.held == {"p-unspooled"}


async def test_a_roll_back_begun_by_the_replay_is_not_mistaken_for_one_cut_off(
    world: World,
) -> None:
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    gate = asyncio.Event()
    world.tool(SEND).on["roll_back"] = waiting_for(gate)
    act = {"proposal_id": proposal_id, "surface": "terminal", "kind": "person", "id": "ben"}
    world.spool.keep(act | {"reason": "stop"})

    restarting = asyncio.create_task(world.restarts())
    for _ in range(200):
        await asyncio.sleep(0.001)
    gate.set()
    await restarting

    ended = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert (ended.state, ended.attention) == (State.ROLLED_BACK, None)


async def test_an_end_waits_for_what_the_last_act_set_in_motion(world: World) -> None:
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    gate = asyncio.Event()
    world.tool(SEND).on["roll_back"] = waiting_for(gate)
    crossing = asyncio.create_task(
        world.workflow.reject(proposal_id, world.sender("ben"), "wrong amount")
    )
    await asyncio.sleep(0)

    ending = asyncio.create_task(world.workflow.shut_down(5))
    await crossing
    await asyncio.sleep(0.01)
    gate.set()
    await ending

    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_an_end_that_is_asked_for_again_gives_no_more_time_than_at_first(
    world: World,
) -> None:
    """What a job begins while the bot ends is waited for, and the process ends in time."""
    await auto_approving(world)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    world.tool(SEND).on["roll_back"] = waiting_for(asyncio.Event())
    await world.workflow.shut_down(0.1)

    await world.workflow.reject(proposal_id, world.sender("ben"), "wrong amount")
    async with asyncio.timeout(5):
        await world.workflow.shut_down(60)

    assert not world.workflow.world.background.tasks
    assert (await world.proposal(proposal_id)).state is State.EXECUTING


async def test_a_slow_platform_holds_up_a_batch_of_closings_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await auto_approving(world)
    for name in ("pat", "sam", "kim"):
        await world.submits(MAIL, parameters={"to": f"{name}@partner.example"})
    reading: list[str] = []
    together = asyncio.Event()

    async def read(proposal_id: str) -> bool:
        reading.append(proposal_id)
        if len(reading) == 3:
            together.set()
        async with asyncio.timeout(5):
            await together.wait()
        return True

    monkeypatch.setattr(world.notifier, "read_cards", read)
    world.clock.advance(900)

    assert await world.workflow.close_due() == 3


async def test_the_same_word_heard_twice_lifts_no_freeze_that_came_after(world: World) -> None:
    operator = replace(world.sender("ana"), event_id="thaw-1")
    await world.workflow.freeze("first", world.sender("ana"))
    await world.workflow.thaw(operator)
    await world.workflow.freeze("fire!", world.sender("ana"))

    reply = await world.workflow.thaw(operator)

    assert reply.code == "duplicate_event"
    assert await world.store.read(lambda tx: tx.flags.get("freeze")) is not None
