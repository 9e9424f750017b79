"""A ✅ and a super ✅ of one person are two: taking the one off takes nothing from the other."""

from __future__ import annotations

import asyncio

import pytest

from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import DUAL, counting, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.state import BURST
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until


@pytest.mark.parametrize("how", ["super", "beside another spelling"])
async def test_a_cross_that_nobody_heard_is_found_in_whichever_list_it_stands(
    stage: DiscordStage, how: str
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    if how == "super":
        card.reactions[CROSS][BURST].append(BEN)
    else:
        unheard(card, BEN, CROSS)
        unheard(card, CAL, f"{CROSS}\ufe0f")
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "rejected"


async def test_a_super_check_mark_taken_off_while_its_card_is_read_leaves_the_plain_one(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    stage.server.reacts(ANA, card, TICK, burst=True)
    await stage.quiet()
    assert stage.surface.listening is not None
    stage.clock.advance(1)
    stage.surface.listening.reading.doubt()
    gate = asyncio.Event()
    held = stage.server.fails("GET", "/reactions/(%E2%9D%8C|❌)", gate=gate, times=1)
    stage.clock.advance(181)
    stage.surface.hearing.alive()
    reading = asyncio.create_task(stage.broadcast.catch_up())
    await until(lambda: held.times == 0, "asked for crosses after the check marks")
    stage.server.unreacts(ANA, card, TICK, burst=True)
    await until(stage._all_heard, "heard")
    gate.set()
    await reading
    await stage.quiet()

    assert await counting(stage, proposal_id) == ["ana"]
    assert await stage.audit("approval_taken_back") == []
