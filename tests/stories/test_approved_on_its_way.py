"""An approval that is typed, and what it approves is judged anew before it can be counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Reply
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.ports import Transaction
from lifecycle.state import State
from lifecycle.verdict import Verdict
from lifecycle.world import Law
from tests.builders import MAIL
from tests.roads import adopted
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World, an_unhurried_sentinel


async def rests_on_evidence(world: World) -> None:
    """Submit p1, for which evidence that says otherwise is a soft finding."""
    rules = dict(world.workflow.policy.rules)
    rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=rules)
    await world.observes(True)
    await world.submits(MAIL, proposal_id="p1", preconditions=[CONDITION])


async def is_on_its_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> tuple[asyncio.Task[Reply], asyncio.Event]:
    """Approve with a reason, which is noted as given on what stands; return that, and what lets
    somebody say who it is."""
    asked, known, seen = asyncio.Event(), asyncio.Event(), asyncio.Event()
    store = world.workflow.world.store
    read = store.read

    async def lost_members(people: Iterable[str], *, only_certain: bool = False) -> frozenset[str]:
        asked.set()
        await known.wait()
        return frozenset()

    async def reading(view: Callable[[Transaction], Any]) -> Any:
        of_what_stands, value = asked.is_set(), await read(view)
        if of_what_stands:
            seen.set()
        return value

    with monkeypatch.context() as slow:
        slow.setattr(world.notifier, "lost_members", lost_members)
        slow.setattr(store, "read", reading)
        typing = world.workflow.approve("p1", world.sender("ana"), "right")
        typed = asyncio.create_task(typing)
        await seen.wait()
    return typed, known


async def is_typed_while_slack_is_slow(
    world: World, monkeypatch: pytest.MonkeyPatch, *, good: bool
) -> Reply:
    """Approve with a reason; before anybody says who it is, the evidence is seen again."""
    await rests_on_evidence(world)
    typed, known = await is_on_its_way(world, monkeypatch)
    world.clock.advance(5)
    await world.observes(good)
    known.set()
    reply = await typed
    await world.workflow.idle()
    return reply


async def test_nobody_approves_by_command_what_was_found_since_it_was_typed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = await is_typed_while_slack_is_slow(world, monkeypatch, good=False)
    waits = await world.proposal("p1")
    assert (reply.code, waits.state) == ("stale_card", State.SENTINEL_APPROVED)
    assert world.tool("send-email").verbs() == []
    assert (await world.approves("ana", "p1", "right all the same")).done
    assert world.tool("send-email").verbs() == ["execute"]


async def test_an_approval_on_its_way_counts_where_nothing_was_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await is_typed_while_slack_is_slow(world, monkeypatch, good=True)).done
    assert world.tool("send-email").verbs() == ["execute"]


class _Slow(Sentinel):
    """Says its word on evidence when it may."""

    async def check(self, *args: Any, **more: Any) -> Verdict:
        verdict = await super().check(*args, **more)
        self.asked.set()
        await self.may.wait()
        return verdict


async def test_nobody_approves_what_was_found_by_evidence_recorded_before_it_was_typed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rests_on_evidence(world)
    law = world.workflow.world.law
    slow = _Slow(law.sentinel.rules, limit_s=30.0)
    slow.asked, slow.may = asyncio.Event(), asyncio.Event()
    world.workflow.world.law = Law(law.policy, slow)
    recording = asyncio.create_task(world.observes(False))
    await slow.asked.wait()
    world.clock.advance(5)
    typed, known = await is_on_its_way(world, monkeypatch)
    slow.may.set()
    await recording
    known.set()
    waits = await world.proposal("p1")
    assert ((await typed).code, waits.opener) == ("stale_card", None)


async def test_an_approval_on_its_way_counts_where_a_new_policy_finds_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rests_on_evidence(world)
    await world.observes(False)
    world.clock.advance(60)
    typed, known = await is_on_its_way(world, monkeypatch)
    world.clock.advance(5)
    policy = replace(world.workflow.policy, digest="pol1_" + 64 * "9")
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
    known.set()
    assert "rechecked" in await world.trail("p1")
    assert (await typed).done
