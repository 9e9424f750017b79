"""Where a card cannot be read on Discord no stop waits behind an approval, and people are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until
from tests.fakes.tools import waiting_for

DUAL = {"approval_class": "dual"}


async def unreadable(stage: DiscordStage, **how: Any) -> tuple[str, Message]:
    """Begin anew with a card that cannot be read, so that the gap stays open."""
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    await until(lambda: card.who(CROSS) == ["900"], "seeds")
    await stage.quiet()
    await stage.ends()
    stage.server.fails("GET", "/messages/\\d+$", **({"status": 503, "times": None} | how))
    await stage.begins(connected=False)
    await until(lambda: stage.surface.hearing.connected, "connected")
    return proposal_id, card


async def test_a_cross_does_not_wait_behind_a_check_mark_whose_card_cannot_be_read(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await unreadable(stage)
    stage.server.reacts(ANA, card, TICK)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")


async def test_a_typed_stop_does_not_wait_behind_an_approval_whose_card_cannot_be_read(
    stage: DiscordStage,
) -> None:
    proposal_id, _ = await unreadable(stage)
    stage.server.says(ANA, f"!approve {proposal_id}")
    await until(
        lambda: any("cannot be read just now" in said for said in stage.server.said()), "told"
    )
    assert await stage.reviews(proposal_id) == []
    stage.server.says(ANA, f"!reject {proposal_id} no")
    await stage.reaches(proposal_id, "rejected")


async def test_a_typed_stop_does_not_wait_behind_an_approval_whose_card_is_being_read(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    await stage.card(proposal_id)
    await stage.quiet()
    await stage.ends()
    gate = asyncio.Event()
    held = stage.server.fails("GET", "/messages/\\d+$", gate=gate, times=None)
    await stage.begins(connected=False)
    await until(lambda: stage.surface.hearing.connected, "connected")
    stage.server.says(ANA, f"!approve {proposal_id}")
    stage.server.says(ANA, f"!reject {proposal_id} no")
    await stage.reaches(proposal_id, "rejected")
    held.times = 0
    gate.set()


async def test_a_stop_by_slash_does_not_wait_for_a_tool_that_another_proposal_runs(
    stage: DiscordStage,
) -> None:
    proposal_id, gate = await stage.proposes(PROD), asyncio.Event()
    stage.tool("search").on["execute"] = waiting_for(gate)
    target = {"resource_type": "web", "resource_id": "x", "domain": "shop.example"}
    document = {
        "proposal_id": "s1",
        "ts_ms": stage.clock.now_ms(),
        "actor": "ana",
        "tool": "search",
        "action_type": "read",
        "target": target | {"constraints": {}},
        "parameters": {"query": "x"},
    }
    stage.server.runs(ANA, "propose", json=json.dumps(document))
    await until(lambda: stage.tool("search").calls, "the tool is at work")
    stage.server.runs(ANA, "reject", id=proposal_id, reason="no")
    await stage.reaches(proposal_id, "rejected")
    gate.set()


async def test_where_reading_is_refused_for_good_words_count(stage: DiscordStage) -> None:
    proposal_id, _ = await unreadable(stage, status=403, code=50001)
    stage.server.says(ANA, f"!approve {proposal_id}")

    async def counted() -> bool:
        return [r.person for r in await stage.reviews(proposal_id)] == ["ana"]

    await until(counted, "counted")


#: What passes although it has the status of a refusal.
PASSING: list[dict[str, Any]] = [
    {"status": 403, "code": 40333},
    {"status": 403, "page": True},
    {"status": 404, "page": True},
    {"status": 400, "code": 130000},
    {"status": 401},
]
NAMES = ["blocked in between", "a page of 403", "a page of 404", "overloaded", "401"]


@pytest.mark.parametrize("how", PASSING, ids=NAMES)
async def test_where_something_in_between_refuses_a_reading_no_words_count_over_a_cross(
    stage: DiscordStage, how: dict[str, Any]
) -> None:
    """Discord's own word alone says that the bot may never read a card."""
    proposal_id, card = await unreadable(stage, **how)
    stage.server.reactions.tell = lambda event, data: None
    stage.server.reacts(BEN, card, CROSS)
    stage.server.says(ANA, f"!approve {proposal_id}")
    await until(
        lambda: any("cannot be read just now" in said for said in stage.server.said()), "told"
    )
    assert await stage.reviews(proposal_id) == []


@pytest.mark.parametrize("how", PASSING, ids=NAMES)
async def test_an_answer_that_something_in_between_refuses_is_given(
    stage: DiscordStage, how: dict[str, Any]
) -> None:
    stage.server.fails("POST", "/channels/701/messages$", says="proposal_id", times=1, **how)
    proposal_id = stage.sends(PROD)

    async def answered() -> bool:
        await stage.passes(seconds=2)
        return [each["proposal_id"] for each in stage.answers()] == [proposal_id]

    await until(answered, "the answer")


async def test_an_emoji_that_went_while_its_card_was_read_hides_no_cross(
    stage: DiscordStage,
) -> None:
    """Discord may not know an emoji any more that stood under the message a moment ago."""
    proposal_id, card = await unreadable(stage, times=0)
    stage.server.fails("GET", f"/reactions/{TICK}", status=404, code=10014, times=None)
    stage.surface.listening.reading.doubt()  # type: ignore[union-attr]
    stage.server.reactions.tell = lambda event, data: None
    stage.server.reacts(BEN, card, CROSS)
    stage.server.says(ANA, f"!approve {proposal_id}")
    await stage.reaches(proposal_id, "rejected")
    assert [review.person for review in await stage.reviews(proposal_id)] == ["ben"]
