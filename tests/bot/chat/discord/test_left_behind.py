"""The config may name another channel at the next start. What was given on a card while the bot was
away was given on the current card in the channel that was configured then."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lifecycle.ports import Transaction
from tests.bot.chat.discord import cards
from tests.bot.chat.discord.standing import state_of
from tests.bot.chat.discord.test_nothing_lost import is_killed
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.rest import thread_json
from tests.fakes.discord_server.state import (
    BOT,
    CHANNEL,
    FOREIGN_CHANNEL,
    FOREIGN_GUILD,
    GUILD,
    OTHER_CHANNEL,
    Message,
)
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until


async def in_window(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve a mail, and the bot end."""
    proposal_id = await stage.proposes(MAIL)
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.card(proposal_id)
    await stage.quiet()
    await stage.ends()
    return proposal_id, card


async def begins_elsewhere(stage: DiscordStage, *, connected: bool = True) -> None:
    stage.channel = OTHER_CHANNEL
    await stage.begins(connected=connected)


async def with_a_card_that_cannot_be_edited(stage: DiscordStage) -> tuple[str, Message]:
    """Return a mail that waits, and its card, which goes on showing that."""
    proposal_id = await stage.proposes(MAIL)
    card = await stage.card(proposal_id)
    await stage.quiet()
    stage.server.fails("PATCH", "/messages/", status=500, times=None)
    return proposal_id, card


async def test_a_stop_given_on_it_while_the_bot_was_away_is_carried_out(
    stage: DiscordStage,
) -> None:
    """The mail left over the ❌, for its card was taken for a deleted one."""
    proposal_id, card = await in_window(stage)
    stage.server.reacts(BEN, card, CROSS)
    await begins_elsewhere(stage)
    await stage.reaches(proposal_id, "rolled_back")


async def test_a_stop_is_carried_out_before_a_card_that_is_not_current_is_posted_anew(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await with_a_card_that_cannot_be_edited(stage)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.ends()
    stage.server.reacts(BEN, card, CROSS)
    reading = stage.server.fails("GET", f"/messages/{card.id}$", status=503, times=None)
    await begins_elsewhere(stage, connected=False)
    await until(lambda: reading.seen, "it is read")
    await stage.passes(seconds=2)
    await stage.broadcast.delivery("discord").drain()
    assert stage.server.cards(OTHER_CHANNEL) == []
    reading.times = 0
    await stage.passes(seconds=10)
    await stage.reaches(proposal_id, "rolled_back")


async def test_no_window_closes_over_it_while_it_cannot_be_read_there(stage: DiscordStage) -> None:
    proposal_id, card = await in_window(stage)
    stage.server.reacts(BEN, card, CROSS)
    reading = stage.server.fails("GET", f"/messages/{card.id}$", status=503, times=None)
    await begins_elsewhere(stage, connected=False)
    await until(lambda: reading.seen, "it is read")
    await stage.passes(minutes=16)
    assert (await stage.proposal(proposal_id)).state.value == "executing"
    reading.times = 0
    stage.surface.hearing.alive()
    await stage.passes(seconds=60)
    await stage.reaches(proposal_id, "rolled_back")


async def test_an_approval_counts_in_the_new_channel_alone(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await stage.quiet()
    await stage.ends()
    stage.server.reacts(ANA, card, TICK)
    await begins_elsewhere(stage)
    anew = await stage.card(proposal_id)
    await stage.quiet()
    assert await stage.reviews(proposal_id) == []
    assert anew in stage.server.cards(OTHER_CHANNEL)
    stage.server.reacts(ANA, anew, TICK)
    await stage.reaches(proposal_id, "completed")


async def test_who_took_an_approval_off_it_makes_no_quorum_with_another(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD, approval_class="dual")
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "ana's approval")
    await stage.card(proposal_id)
    await stage.quiet()
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(1)
    await begins_elsewhere(stage)
    await stage.passes(seconds=2)  # it may have been due before it was read
    anew = await stage.card(proposal_id)
    stage.server.reacts(BEN, anew, TICK)
    await until(lambda: _approve(stage, proposal_id, "ben"), "ben's approval alone")
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def _approve(stage: DiscordStage, proposal_id: str, *people: str) -> bool:
    reviews = await stage.reviews(proposal_id)
    return {each.person for each in reviews if each.counts} == set(people)


async def test_a_card_in_a_channel_that_is_gone_is_posted_anew_and_keeps_no_window_open(
    stage: DiscordStage,
) -> None:
    proposal_id, _ = await in_window(stage)
    del stage.server.state.channels[CHANNEL]
    await begins_elsewhere(stage)
    await stage.card(proposal_id)
    assert len(stage.server.cards(OTHER_CHANNEL)) == 1
    stage.clock.advance(16 * 60)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    await stage.reaches(proposal_id, "completed")


async def test_an_old_card_whose_proposal_has_ended_waits_for_no_reading(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await with_a_card_that_cannot_be_edited(stage)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    await stage.ends()
    await begins_elsewhere(stage)

    async def settled() -> bool:
        await stage.passes(seconds=2)
        await stage.broadcast.delivery("discord").drain()
        row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return row is not None and row.shown_version == row.wanted_version

    await until(settled, "the card is done with")
    assert stage.server.cards(OTHER_CHANNEL) == []


@pytest.mark.parametrize(
    "written", ["elsewhere", "9" * 5_000, "\u0663"], ids=["word", "long", "other digit"]
)
async def test_what_is_no_channel_in_its_row_keeps_a_card_from_nothing(
    stage: DiscordStage, written: str
) -> None:
    """Somebody wrote over the row: the card stands where it stood."""
    proposal_id, card = await in_window(stage)
    stage.server.reacts(BEN, card, CROSS)

    def written_over(tx: Transaction) -> None:
        (row,) = tx.cards.of(proposal_id)
        tx.cards.put(replace(row, extra={**row.extra, "place": written}))

    await stage.store.write(written_over)
    await stage.begins()
    await stage.reaches(proposal_id, "rolled_back")


@pytest.mark.parametrize("how", ["form", "slash", "message", "in a thread"])
async def test_a_stop_that_was_taken_and_not_processed_counts_in_the_channel_that_was_configured(
    stage: DiscordStage, how: str
) -> None:
    """It was stored, and then one in the wrong place: the mail left."""
    proposal_id, card = await cards.in_window(stage)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    if how == "in a thread":
        thread = stage.server.opens_thread(card, "why")
        stage.server.says(BEN, f"!reject {proposal_id} wrong version", channel=thread)
    else:
        cards.ben_stops(stage, proposal_id, card, how)
    await until(lambda: held.seen, "asked who ben is")
    await is_killed(stage)
    gate.set()
    await begins_elsewhere(stage)
    await stage.reaches(proposal_id, "rolled_back")
    assert await stage.audit("ignored") == []


@pytest.mark.parametrize("how", ["form", "slash", "in a thread not told of"])
async def test_a_stop_that_was_taken_and_not_processed_counts_in_the_server_that_was_configured(
    stage: DiscordStage, how: str
) -> None:
    """The config names a channel of another server since: the stop was one in the wrong place, and
    the mail left."""
    for member in (BOT, ANA, BEN):
        stage.server.state.join(member, guild=FOREIGN_GUILD)
    proposal_id, card = await cards.in_window(stage)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    if how == "in a thread not told of":
        thread = card.id
        stage.server.state.add_channel(thread, GUILD, "why", **thread_json(thread, CHANNEL))
        stage.server.says(BEN, f"!reject {proposal_id} wrong version", channel=thread)
    else:
        cards.ben_stops(stage, proposal_id, card, how)
    await until(lambda: held.seen, "asked who ben is")
    await is_killed(stage)
    gate.set()
    stage.guild, stage.channel = FOREIGN_GUILD, FOREIGN_CHANNEL
    await stage.begins()

    async def stopped() -> bool:
        stage.clock.advance(1)  # it may have waited for the connection
        return await state_of(stage, proposal_id) == "rolled_back"

    await until(stopped, "stopped")
    assert await stage.audit("ignored") == []
