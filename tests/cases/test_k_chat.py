"""Cases J and K on Discord: restarts at every stage, and decisions that come too late."""

from __future__ import annotations

import pytest

from bot.jobs import JOBS
from bot.jobs.scheduler import Scheduler
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, CROSS, TICK, DiscordStage, until


async def test_K02_restarts_at_every_stage_execute_once_and_leave_one_card(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes()
    for _ in range(3):
        await discord_stage.restarts()
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.reaches(proposal_id, "executing")
    for _ in range(2):
        await discord_stage.restarts()
    await discord_stage.passes(minutes=15, seconds=1)
    await discord_stage.reaches(proposal_id, "completed")

    assert discord_stage.tool("send-email").verbs() == ["execute", "commit"]
    assert len(discord_stage.server.cards()) == 1
    sent = [call.json for call in discord_stage.server.called("POST", "/channels/701/messages$")]
    assert len([body for body in sent if "<@&7301>" in str(body["content"])]) == 1

    def ends() -> list[str]:
        answers = discord_stage.answers()
        return [each["proposal_id"] for each in answers if each["state"] == "completed"]

    await until(ends, "its agent is told")
    await discord_stage.restarts()
    await discord_stage.keeps_house()
    await discord_stage.quiet()
    assert ends() == [proposal_id]


@pytest.mark.usefixtures("identified_at_once")
async def test_J06_a_bot_that_is_ready_three_times_begins_nothing_twice(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    pending = await discord_stage.proposes(PROD)
    mail = await discord_stage.proposes()
    discord_stage.server.reacts(ANA, await discord_stage.card(mail), TICK)
    begun = await discord_stage.reaches(mail, "executing")
    gateway = discord_stage.server.gateway
    scheduler = Scheduler(JOBS, discord_stage.workflow, discord_stage.clock)

    for times in (2, 3):  # each is a READY of its own, since the session is forgotten
        scheduler.start()
        gateway.sessions.clear()
        gateway.cut()
        await until(lambda: gateway.identified == times, "ready again")  # noqa: B023
        await discord_stage.hears()
    jobs = scheduler.names
    await scheduler.stop(1)
    await discord_stage.quiet()

    assert (await discord_stage.proposal(pending)).state.value == "sentinel_approved"
    assert (await discord_stage.proposal(mail)).execution == begun.execution
    await discord_stage.passes(minutes=15, seconds=1)
    await discord_stage.reaches(mail, "completed")
    assert jobs.count("close_windows") == 1
    assert len(jobs) == len(JOBS)
    assert discord_stage.tool("send-email").verbs() == ["execute", "commit"]
    assert len(discord_stage.server.cards()) == 2
    assert [each for each in caplog.records if each.exc_info] == []


async def test_J13_the_card_shows_the_stored_end_and_the_time_left_kept_current_by_discord(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes()
    discord_stage.clock.advance(480)
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    execution = (await discord_stage.reaches(proposal_id, "executing")).execution
    assert execution is not None
    assert execution.window_closes_at_ms is not None

    card = await discord_stage.card(proposal_id)

    live = f"closes 2026-03-02 12:23:00 UTC (<t:{execution.window_closes_at_ms // 1000}:R>)"
    assert live in str(card.data["embeds"])


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

    await discord_stage.quiet()

    assert (await discord_stage.proposal(proposal_id)).reason == "expired"
    assert discord_stage.tool("production-deploy").verbs() == []
    (note,) = [text for text in discord_stage.server.said() if text.startswith("ana:")]
    assert "12:10:00 UTC" in note
    assert "othing was run" in note
    assert "expired" in str((await discord_stage.card(proposal_id)).data["embeds"])
    (row,) = await discord_stage.audit("ignored")
    assert row["actor"] == {"kind": "person", "id": "ana"}
