"""An edit that Discord lets wait is not shown after a newer one: people decide on what they see."""

from __future__ import annotations

import asyncio
import json

import discord
import pytest

from bot.chat.discord.rest import Outgoing
from tests.bot.chat.discord.standing import DUAL
from tests.builders import PROD
from tests.fakes.discord_server.faults import Bucket
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until


def says(card: Message, words: str) -> bool:
    return words in json.dumps(card.data["embeds"])


async def shown_at_last(stage: DiscordStage, proposal_id: str) -> Message:
    async def stands() -> bool:
        await stage.passes(seconds=2)
        found = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return found is not None and found.shown_version == found.wanted_version

    await until(stands, "the card")
    return await stage.card(proposal_id)


@pytest.mark.parametrize("how", ["rate limited", "slow"])
async def test_an_edit_that_was_given_up_does_not_come_after_a_newer_one(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    stage.server.bucket = Bucket(5, 0.5, "PATCH", r"/channels/\d+/messages/\d+")
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    # From its first answer on discord.py knows that several may be done at once.
    await stage.surface.rest.edit(int(card.id), Outgoing(embed=discord.Embed(title="🔔")))
    monkeypatch.setattr("bot.chat.discord.calls.ANSWERED_S", 0.2)
    gate = asyncio.Event()
    slow = {"gate": gate} if how == "slow" else {"status": 429, "retry_after": 1.5}
    edit = f"/messages/{card.id}$"
    stage.server.fails("PATCH", edit, says=proposal_id, times=1, **slow)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.server.called("PATCH", edit), "edited, and let wait")
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")
    for _ in range(20):
        await stage.passes(seconds=2)
        await asyncio.sleep(0.1)
    gate.set()
    card = await shown_at_last(stage, proposal_id)
    await asyncio.sleep(0.3)
    assert says(card, "completed")
    assert not says(card, "sentinel_approved")
