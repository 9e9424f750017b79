"""Cases O03 and O04 on Discord: a deaf bot connects anew, and a slow one is none."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until
from tests.slack_stage.unwritable import Unwritable


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


async def test_O04_a_command_is_acknowledged_in_time_however_slow_the_store_is(
    discord_stage: DiscordStage,
) -> None:
    stage, world = discord_stage, discord_stage.workflow.world
    disk = world.store = Unwritable(world.store)  # type: ignore[assignment]
    disk.slow = asyncio.Event()
    document = a_document(MAIL, proposal_id="p1", actor="ana", ts_ms=stage.clock.now_ms())
    asked = [stage.server.runs(ANA, "propose", json=json.dumps(document)) for _ in range(2)]
    for each in asked:
        await until(lambda each=each: each.acknowledged_after_s is not None, "acknowledging")
        assert each.acknowledged_after_s < 3
    disk.slow.set()
    await until(lambda: all(each.text for each in asked), "both answers")
    assert sorted('"deduplicated": true' in each.text for each in asked) == [False, True]
    await stage.card("p1")
    assert len(stage.server.cards()) == 1


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often, so that nobody has to wait."""
    monkeypatch.setattr("bot.chat.discord.client._LOOK_S", 0.1)
