"""Cases I on the platforms: a crash in the middle, repeated signals, a restart between."""

from __future__ import annotations

import asyncio

from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, CAL, TICK, DiscordStage, until
from tests.fakes.tools import waiting_for
from tests.slack_stage import on_slack

DEPLOY = "production-deploy"


async def cut_off(stage: DiscordStage) -> str:
    """Let the process end right after the move to executing; return the proposal's id."""
    stage.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "executing")
    cut = list(stage.workflow.world.tasks)
    for task in cut:
        task.cancel()
    await asyncio.gather(*cut, return_exceptions=True)
    stage.tool(DEPLOY).on.clear()
    await stage.restarts()
    await stage.keeps_house()
    return proposal_id


async def test_I10_what_a_crash_cut_off_is_shown_as_unknown_and_a_reviewer_settles_it(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await cut_off(discord_stage)

    async def shown() -> bool:
        card = await discord_stage.card(proposal_id)
        return "outcome_unknown" in str(card.data["embeds"])

    await until(shown, "the card says so")
    discord_stage.server.says(CAL, f"!settle {proposal_id} happened")
    await discord_stage.ignored("not_a_reviewer")
    discord_stage.server.says(BEN, f"!settle {proposal_id} happened")
    await discord_stage.reaches(proposal_id, "completed")

    assert discord_stage.tool(DEPLOY).verbs() == ["execute"]


async def test_I10_or_retries_it_under_a_key_of_its_own(discord_stage: DiscordStage) -> None:
    proposal_id = await cut_off(discord_stage)

    discord_stage.server.says(BEN, f"!retry {proposal_id}")
    await discord_stage.reaches(proposal_id, "completed")

    keys = [call.idempotency_key for call in discord_stage.tool(DEPLOY).calls]
    assert keys == [f"{proposal_id}:execute:1", f"{proposal_id}:execute:2"]


async def test_I09_signals_on_an_end_change_nothing_and_are_no_shower_of_notes() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")
        for user in ("UANA", "UBEN"):
            for name in ("white_check_mark", "x") * 2:
                await slack.server.reacts(user, card.ts, name)
                await slack.server.unreacts(user, card.ts, name)
        await slack.settles()
        assert len(slack.hints()) <= 4
        assert (await slack.world.proposal("p1")).reason == "rejected_by_person"


async def test_I12_I13_decisions_and_windows_survive_restarts_on_slack() -> None:
    async with on_slack() as slack:
        parameters = {"to": "pat@partner.example", "body": "Hello"}
        cards = [
            await slack.proposes(parameters=parameters | {"subject": f"Invoice {number}"})
            for number in range(3)
        ]
        await slack.restarts()
        await slack.server.reacts("UANA", cards[1].ts)
        await slack.server.reacts("UANA", cards[2].ts, "x")
        await slack.stands("p2", "executing")
        await slack.stands("p3", "rejected")
        await slack.restarts()
        slack.world.clock.advance(900)
        await slack.broadcast.catch_up()
        await slack.world.workflow.close_due()
        await slack.stands("p2", "completed")
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert [len(slack.cards(name)) for name in ("p1", "p2", "p3")] == [1, 1, 1]
