"""A ✅ and a super ✅ of one person are two: taking the one off takes nothing from the other."""

from __future__ import annotations

import asyncio

from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DUAL, counting
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until


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
