"""Somebody changes what is inside its window: people are told what is so."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.stories.forging import problems
from tests.world import World

SEND, STAGING = "send-email", "staging-deploy"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def deployed(world: World) -> None:
    target = PROD["target"] | {"domain": "staging.shop.example"}
    await world.submits(PROD, tool=STAGING, target=target)
    assert await problems(world) == []


@pytest.mark.parametrize(
    ("tool", "change", "said"),
    [
        (STAGING, "document = replace(document, '{', '{ ')", "it is taken back"),
        (SEND, "window_closes_at_ms = window_closes_at_ms + 1", "so nothing is committed"),
        (SEND, "document = replace(document, '{', '{ ')", "it is taken back"),
    ],
)
async def test_nobody_is_told_that_an_approval_closed_what_somebody_has_changed(
    world: World, forged: Any, tool: str, change: str, said: str
) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await (deployed(world) if tool == STAGING else world.submits(MAIL))
    await world.keeps_house()
    forged(f"UPDATE proposals SET {change}")

    reply = await world.approves("ana", "p1")

    assert reply.words.startswith("p1 is not closed. The stored row")
    assert said in reply.words
    assert "commit" not in world.tool(tool).verbs()
    assert (await world.proposal("p1")).state is not State.COMPLETED


async def test_what_was_judged_again_under_way_has_the_tier_and_quorum_that_the_trail_tells(
    world: World, forged: Any
) -> None:
    await deployed(world)
    await world.approves("ana", "p1")
    await world.adopts(solo_operator=True)
    assert "rechecked" in await world.trail("p1")
    assert await problems(world) == []

    forged("UPDATE proposals SET tier = 'CONFIRM', rest = json_set(rest, '$.quorum', 2)")

    said = await problems(world)
    assert any("its tier is CONFIRM, the trail says PROPOSE" in words for words in said)
    assert any("its quorum is 2, the trail says 1" in words for words in said)
