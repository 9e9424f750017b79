"""Case O03 on Discord: a bot that hears nothing says so, connects anew, and misses nothing."""

from __future__ import annotations

import pytest

from tests.builders import PROD
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until


async def test_O03_a_heart_that_stopped_turns_red_is_replaced_and_what_was_missed_counts(
    discord_unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = discord_unstarted
    stage.heartbeat_s = 0.5
    stage.server.gateway.heartbeat_interval_ms = 100
    await stage.begins()
    proposal_id, mail = await stage.proposes(PROD), await stage.proposes()
    card = await stage.card(proposal_id)
    gateway = stage.server.gateway
    before = gateway.resumed + gateway.identified

    hearing, red = stage.surface.hearing, list[str]()
    lost = hearing.lost

    def noted(why: str, *more: object) -> None:
        lost(why, *more)
        red.append(stage.broadcast.health()[0])

    monkeypatch.setattr(hearing, "lost", noted)
    gateway.answers_heartbeats = False
    await until(lambda: gateway.resumed + gateway.identified > before, "a fresh one", seconds=30)
    gateway.answers_heartbeats = True
    await stage.hears()
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")

    assert red
    assert "DOWN" in red[0]
    assert (await stage.proposal(mail)).state.value == "sentinel_approved"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often, so that nobody has to wait."""
    monkeypatch.setattr("bot.chat.discord.client._LOOK_S", 0.1)
