"""Evidence that was just recorded: nothing is made final before it is judged by."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lifecycle.judging.adopting import Adopter
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.ports import StoreUnavailable
from lifecycle.tier import Tier
from tests.builders import MAIL
from tests.stories.resting_on_evidence import (
    CONDITION,
    SEND,
    Mail,
    has_no_window,
    is_taken_back,
)
from tests.world import World


async def unjudged(world: World, monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    """Record what is seen now, and let the process end before anything is judged by it."""

    async def dies(_self: Adopter, evidence_id: str) -> int:
        raise StoreUnavailable("the process ended")

    with monkeypatch.context() as patched:
        patched.setattr(Adopter, "evidence_changed", dies)
        await world.observes(value)


async def in_its_window(world: World, **changes: Any) -> None:
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION], **changes)
    await world.approves("ana", "m1")
    world.clock.advance(1)


async def test_a_window_does_not_close_before_it_is_judged_by_what_was_just_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_its_window(world)
    world.clock.advance(900)
    await unjudged(world, monkeypatch, False)

    assert await world.workflow.close_due() == 0
    await world.keeps_house()

    await is_taken_back(world)


async def test_a_window_closes_once_it_is_judged_by_what_was_just_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_its_window(world)
    world.clock.advance(900)
    await unjudged(world, monkeypatch, True)
    await world.keeps_house()

    assert world.tool(SEND).verbs() == ["execute", "commit"]


async def test_evidence_that_nobody_lived_to_judge_by_is_judged_as_of_when_it_was_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_its_window(world)
    await unjudged(world, monkeypatch, False)
    world.clock.advance(3600)

    await world.restarts()
    await world.keeps_house()

    await is_taken_back(world)


async def test_nobody_ends_a_window_early_before_it_is_judged_by_what_was_just_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.observes(True)
    await world.submits(MAIL, proposal_id="m1", preconditions=[CONDITION])
    await world.keeps_house()
    world.clock.advance(1)
    await unjudged(world, monkeypatch, False)

    reply = await world.approves("ana", "m1")

    assert (reply.code, "checked again" in reply.words) == ("still_running", True)
    assert world.tool(SEND).verbs() == ["execute"]


async def test_without_a_window_nothing_is_committed_before_what_was_just_recorded_is_judged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await has_no_window(world)
    mail = Mail(world, "running")
    await mail.is_sent()
    await unjudged(world, monkeypatch, False)
    await mail.is_answered()
    assert world.tool(SEND).verbs() == ["execute"]

    await world.keeps_house()

    await is_taken_back(world)


async def test_two_rounds_at_once_do_not_lose_what_is_recorded_between_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_its_window(world)
    real = Adopter.evidence_changed
    looked, may_end = asyncio.Barrier(3), asyncio.Event()

    async def slow(self: Adopter, evidence_id: str) -> None:
        await real(self, evidence_id)
        await looked.wait()
        await may_end.wait()

    await unjudged(world, monkeypatch, True)
    world.clock.advance(1)
    with monkeypatch.context() as patched:
        patched.setattr(Adopter, "evidence_changed", slow)
        rounds = [asyncio.create_task(world.workflow.adopter.judge_evidence()) for _ in range(2)]
        await looked.wait()
        await unjudged(world, monkeypatch, False)
        may_end.set()
        await asyncio.gather(*rounds)

    await world.keeps_house()

    await is_taken_back(world)


async def test_what_its_tool_was_not_there_to_be_judged_for_is_judged_when_it_is_back(
    world: World,
) -> None:
    await in_its_window(world)
    tools = dict(world.workflow.policy.tools)
    await world.adopts(tools={name: tool for name, tool in tools.items() if name != SEND})
    await world.observes(False)
    assert world.tool(SEND).verbs() == ["execute"]

    await world.adopts(tools=tools)

    await is_taken_back(world)


async def test_what_cannot_be_judged_by_its_evidence_is_not_closed_until_it_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_its_window(world)

    async def fails(_self: Gatekeeper, _proposal: Any) -> Any:
        raise RuntimeError("no thread")

    with monkeypatch.context() as patched:
        patched.setattr(Gatekeeper, "check_evidence", fails)
        await world.observes(False)
        await world.passes(minutes=16)
        assert world.tool(SEND).verbs() == ["execute"]

    await world.workflow.recheck()
    await world.workflow.idle()

    await is_taken_back(world)
