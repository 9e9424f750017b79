"""An approval that is typed, and what it approves is judged anew before it can be counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from lifecycle.answers import Reply
from lifecycle.policy import Level
from lifecycle.state import State
from tests.builders import MAIL
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World


async def is_typed_while_slack_is_slow(
    world: World, monkeypatch: pytest.MonkeyPatch, *, good: bool
) -> Reply:
    """Approve with a reason; before anybody says who it is, the evidence is seen again."""
    rules = dict(world.workflow.policy.rules)
    rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=Level.SOFT)
    await world.adopts(rules=rules)
    await world.observes(True)
    await world.submits(MAIL, proposal_id="p1", preconditions=[CONDITION])
    known = asyncio.Event()

    async def lost_members(people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        await known.wait()
        return frozenset()

    with monkeypatch.context() as slow:
        slow.setattr(world.notifier, "lost_members", lost_members)
        typing = world.workflow.approve("p1", world.sender("ana"), "right")
        typed = asyncio.create_task(typing)
        await asyncio.sleep(0.01)
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
