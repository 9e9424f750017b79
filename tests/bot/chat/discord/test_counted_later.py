"""Whose membership Discord does not tell just now is counted once it can be read."""

from __future__ import annotations

import pytest

from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    approved_once,
    counting,
    newest,
    state_of,
    unread_reviewer,
)
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage


async def one_short(stage: DiscordStage) -> str:
    """Let two of two approve while it cannot be told whether the first is still a member."""
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.fails("GET", f"/members/{ANA}", status=403, times=1)
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana", "ben"]
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    return proposal_id


async def test_a_quorum_short_of_one_failed_question_is_counted_anew_at_the_next_reading(
    stage: DiscordStage,
) -> None:
    proposal_id = await one_short(stage)
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"
    assert await counting(stage, proposal_id) == ["ana", "ben"]


@pytest.mark.parametrize("again", [ANA, BEN])
async def test_a_quorum_short_of_one_failed_question_is_counted_anew_by_a_second_approval(
    stage: DiscordStage, again: str
) -> None:
    proposal_id = await one_short(stage)
    stage.server.says(again, f"!approve {proposal_id}")
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "completed"
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_a_quorum_short_at_a_reading_too_is_counted_anew_at_a_later_one(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    await read_again(stage)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"


async def test_a_reviewer_who_cannot_be_read_is_told_so_and_counts_when_read_later(
    stage: DiscordStage,
) -> None:
    proposal_id, card, outage = await unread_reviewer(stage)
    await stage.quiet()
    assert "membership here cannot be read just now" in stage.server.said()[-1]
    assert ANA in card.who(TICK)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"
    assert (await newest(stage, proposal_id)).found_late


@pytest.mark.parametrize("readings", [1, 2])
async def test_a_reviewer_who_cannot_be_read_at_a_reading_either_counts_at_a_later_one(
    stage: DiscordStage, readings: int
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    for _ in range(readings):
        await read_again(stage)
    outage.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "completed"
