"""An answer that is not Discord's, as of something in between, says nothing: none is taken from it.

It comes with status 200, so discord.py hands it over.
"""

from __future__ import annotations

import json

import pytest

from tests.bot.chat.discord.cards import in_window, read_again
from tests.bot.chat.discord.standing import (
    DEPLOY,
    approved_once,
    counting,
    state_of,
    unheard,
)
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

pages = pytest.mark.parametrize("page", [True, ""])


@pytest.mark.parametrize("page", [True, "", json.dumps({"user": {"id": BEN}})])
async def test_whoever_it_does_not_name_is_no_member_by_it(
    stage: DiscordStage, page: bool | str
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.state.members["700"].pop(ANA)
    between = stage.server.fails("GET", f"/members/{ANA}", status=200, page=page, times=None)
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    between.times = 0
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "sentinel_approved", "she has left"
    assert stage.tool(DEPLOY).verbs() == []


@pages
async def test_no_window_closes_over_a_card_under_which_it_names_nobody(
    stage: DiscordStage, page: bool | str
) -> None:
    proposal_id, card = await in_window(stage)
    unheard(card, BEN, CROSS)
    stage.surface.listening.reading.doubt()  # type: ignore[union-attr]
    between = stage.server.fails("GET", "/reactions/", status=200, page=page, times=None)
    await stage.passes(minutes=15, seconds=1)
    assert await state_of(stage, proposal_id) == "executing"
    between.times = 0

    async def ended() -> bool:
        await stage.passes(seconds=5)
        return await state_of(stage, proposal_id) != "executing"

    await until(ended, "its end")
    assert await state_of(stage, proposal_id) == "rolled_back"


@pages
async def test_no_approval_is_taken_back_where_it_names_nobody(
    stage: DiscordStage, page: bool | str
) -> None:
    proposal_id, _ = await approved_once(stage, ANA)
    stage.server.fails("GET", "/reactions/", status=200, page=page, times=None)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
