"""Cases J and K on Discord: restarts at every stage, and decisions that come too late."""

from __future__ import annotations

import pytest

from tests.builders import PROD
from tests.fakes.discord_stage import ANA, CROSS, TICK, DiscordStage


async def test_K02_restarts_at_every_stage_execute_once_and_leave_one_card(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes()
    for _ in range(2):
        await discord_stage.restarts()
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.reaches(proposal_id, "executing")
    for _ in range(2):
        await discord_stage.restarts()
    await discord_stage.passes(minutes=15, seconds=1)
    await discord_stage.reaches(proposal_id, "completed")

    assert discord_stage.tool("send-email").verbs() == ["execute", "commit"]
    assert len(discord_stage.server.cards()) == 1


@pytest.mark.parametrize("signal", [TICK, CROSS])
async def test_J14_J16_what_is_decided_after_the_deadline_does_not_count(
    discord_stage: DiscordStage, signal: str
) -> None:
    now_ms = discord_stage.clock.now_ms()
    bounds = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 600_000, "max_duration_ms": 1000}
    proposal_id = await discord_stage.proposes(PROD, time_window=bounds)
    card = await discord_stage.card(proposal_id)
    discord_stage.clock.advance(660)

    discord_stage.server.reacts(ANA, card, signal)
    await discord_stage.reaches(proposal_id, "rejected")

    assert (await discord_stage.proposal(proposal_id)).reason == "expired"
    assert discord_stage.tool("production-deploy").verbs() == []
