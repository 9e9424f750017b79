"""What people see of calls that nobody opened: a note of each for AUTO+, nothing for AUTO."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.policy import ActionType
from lifecycle.ports import Call, ToolFailed
from lifecycle.tier import Tier
from tests.builders import MAIL, a_tool
from tests.fakes.tools import Doing, answering, raising, waiting_for
from tests.world import World

NOTE: dict[str, Any] = {"tool": "note", "action_type": "write", "parameters": {"text": "Hello"}}


async def proposed(world: World, tier: Tier, does: Doing) -> bool:
    """Let a tool of this tier act; say whether a card of it stands."""
    tool = a_tool("note", tier, ActionType.WRITE)
    await world.adopts(tools=world.workflow.policy.tools | {"note": tool})
    world.tool("note").on["execute"] = does
    answer = await world.submits(MAIL, proposal_id="p1", **NOTE)
    assert answer.tier == tier
    cards = await world.store.read(lambda tx: tx.cards.of("p1"))
    return any(card.delivered for card in cards)


@pytest.mark.parametrize(
    "does",
    [answering({}), raising(ToolFailed("the other side said no")), raising(RuntimeError("cut"))],
    ids=["done", "failed", "unknown"],
)
async def test_people_see_a_note_of_every_call_at_auto_plus(world: World, does: Doing) -> None:
    assert await proposed(world, Tier.AUTO_PLUS, does)


@pytest.mark.parametrize(
    ("does", "seen"),
    [
        (answering({}), False),
        (raising(ToolFailed("the other side said no")), False),
        (raising(RuntimeError("cut")), True),
    ],
    ids=["done", "failed", "unknown"],
)
async def test_of_a_call_at_auto_they_see_what_needs_them_alone(
    world: World, does: Doing, seen: bool
) -> None:
    assert await proposed(world, Tier.AUTO, does) is seen


@pytest.mark.parametrize("tier", [Tier.AUTO, Tier.AUTO_PLUS])
async def test_of_a_call_that_nobody_opened_they_see_nothing_before_it_ended(
    world: World, tier: Tier
) -> None:
    called, gate = asyncio.Event(), asyncio.Event()

    async def at_work(call: Call) -> Mapping[str, Any]:
        called.set()
        return await waiting_for(gate)(call)

    submitting = asyncio.create_task(proposed(world, tier, at_work))
    await called.wait()

    assert await world.store.read(lambda tx: tx.cards.of("p1")) == []
    gate.set()
    assert await submitting is (tier is Tier.AUTO_PLUS)


async def test_of_what_is_blocked_they_see_no_card(world: World) -> None:
    assert not await proposed(world, Tier.BLOCK, answering({}))
    assert world.tool("note").verbs() == []
