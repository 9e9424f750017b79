"""A card that was deleted, and posted anew where no row says so: nothing closes over what stands
there."""

from __future__ import annotations

import asyncio

import pytest

from tests.bot.chat.discord.cards import in_window
from tests.bot.chat.discord.standing import unheard
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import BEN, CROSS, DiscordStage, until


async def posted_anew_unnoted(stage: DiscordStage, card: Message) -> Message:
    """Delete a card; return the one that is posted in its place, and whose answer is lost."""
    stage.server.fails("GET", "/channels/701/messages$", status=500, times=None)
    lost = stage.server.fails("POST", "/messages$", acts=True, says="PROPOSAL", times=1)
    stage.server.fails("POST", "/messages$", status=500, says="PROPOSAL", times=None)
    stage.server.deletes(card)
    await until(lambda: lost.times == 0 and stage.server.cards(), "posted, its answer lost")
    (anew,) = stage.server.cards()
    return anew


async def test_no_window_closes_over_a_stop_on_a_card_that_was_posted_anew_and_is_not_noted(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was gone counted as read, and the mail was sent."""
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    proposal_id, card = await in_window(stage)
    anew = await posted_anew_unnoted(stage, card)
    stage.server.reacts(BEN, anew, CROSS)
    await stage.ignored("unknown_proposal")
    for _ in range(95):
        stage.clock.advance(10)
        stage.surface.hearing.alive()
        await stage.workflow.close_due()
    assert (await stage.proposal(proposal_id)).state == "executing"
    for fault in stage.server.faults:
        fault.times = 0

    async def taken_back() -> bool:
        stage.clock.advance(5)
        await stage.keeps_house()
        stage.broadcast.nudge()
        return (await stage.proposal(proposal_id)).terminal

    await until(taken_back, "found")
    assert stage.tool("send-email").verbs() == ["execute", "roll_back"]


@pytest.mark.parametrize("heard", [True, False])
async def test_a_stop_counts_although_its_card_is_posted_anew_before_it_is_carried_out(
    stage: DiscordStage, heard: bool
) -> None:
    """Discord was asked who gave it; then it was one on an old card, and the mail was sent."""
    proposal_id, card = await in_window(stage)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    if heard:
        stage.server.reacts(BEN, card, CROSS)
    else:
        unheard(card, BEN, CROSS)
        stage.surface.hearing.began()
        reading = asyncio.create_task(stage.broadcast.catch_up())
    await until(lambda: held.seen, "asked who ben is")
    stage.clock.advance(1)
    stage.server.deletes(card)
    await until(lambda: [each for each in stage.server.cards() if each.id != card.id], "anew")
    await stage.card(proposal_id)
    gate.set()
    if not heard:
        await reading
    await stage.quiet()
    assert (await stage.reaches(proposal_id, "rolled_back")).reason == "rolled_back_by_person"
