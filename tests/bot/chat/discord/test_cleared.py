"""What a moderator clears from a Discord card takes no approval back; its giver does."""

from __future__ import annotations

from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    taken_off_unheard,
)
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until


async def opens_with_ben(stage: DiscordStage, proposal_id: str, card: Message) -> None:
    """Ana's approval counts as before: ben's is the second."""
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_a_clearing_takes_nothing_back_at_the_readings_after_it(stage: DiscordStage) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    for _ in range(2):
        await read_again(stage)
        assert await counting(stage, proposal_id) == ["ana"]
    assert await stage.audit("approval_taken_back") == []
    await opens_with_ben(stage, proposal_id, card)


async def test_a_clearing_while_the_bot_was_away_takes_nothing_back_then_nor_with_seeds_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    await stage.ends()
    stage.server.clears(card)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await read_again(stage)
    assert await stage.audit("approval_taken_back") == []
    await opens_with_ben(stage, proposal_id, card)


async def test_a_check_mark_given_after_a_clearing_and_taken_off_in_an_absence_is_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    stage.clock.advance(1)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


async def test_a_check_mark_given_again_after_a_clearing_and_taken_off_in_an_absence_is_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, ANA)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    stage.clock.advance(1)
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


async def test_a_check_mark_taken_off_in_an_absence_is_taken_back_where_the_bot_may_add_no_emoji(
    stage: DiscordStage,
) -> None:
    """Its own never stood there: that passed for a clearing, and ana's opened it with ben's."""
    stage.server.fails("PUT", "/reactions/", status=403, times=None)
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
    await stage.ends()
    taken_off_unheard(card, ANA, TICK)
    stage.server.reacts(BEN, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]
    assert stage.tool(DEPLOY).verbs() == []
