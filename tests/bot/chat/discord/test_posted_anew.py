"""A card that was deleted, and posted anew where no row says so: nothing closes over what stands
there."""

from __future__ import annotations

import pytest

from tests.bot.chat.discord.cards import in_window
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
