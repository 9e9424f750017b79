"""A remedy that is told on Discord can be typed there as it is told."""

from __future__ import annotations

import re

from bot.chat.discord.views import APPROVE
from tests.bot.chat.discord.standing import DEPLOY
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until
from tests.fakes.tools import raising


async def in_doubt(stage: DiscordStage) -> str:
    """Let nobody know whether an action was carried out; return the id of its proposal."""
    stage.tool(DEPLOY).on["execute"] = raising(RuntimeError("the line was cut"))
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await until(lambda: told(stage, "needs a person"), "people are called")
    return proposal_id


def told(stage: DiscordStage, words: str) -> str:
    return next((text for text in stage.server.said() if words in text), "")


async def test_the_call_for_a_person_names_commands_as_they_are_typed_here(
    stage: DiscordStage,
) -> None:
    proposal_id = await in_doubt(stage)
    found = re.search(rf"\S*settle {proposal_id} happened", told(stage, "needs a person"))
    assert found is not None
    stage.server.says(BEN, found[0])
    await stage.reaches(proposal_id, "completed")


async def test_whoever_decides_in_vain_is_told_the_command_as_it_is_typed_here(
    stage: DiscordStage,
) -> None:
    proposal_id = await in_doubt(stage)
    stage.server.reacts(BEN, await stage.card(proposal_id), TICK)
    note = await until(lambda: told(stage, "executing already"), "the note to ben")
    assert f"!settle {proposal_id} happened" in note


async def test_whoever_presses_a_button_in_vain_is_told_the_command_as_it_is_typed_here(
    stage: DiscordStage,
) -> None:
    proposal_id = await in_doubt(stage)
    pressed = stage.server.clicks(BEN, await stage.card(proposal_id), APPROVE)
    await until(lambda: "executing already" in pressed.text, "the answer to ben")
    assert f"!settle {proposal_id} happened" in pressed.text


async def test_what_a_person_wrote_as_a_reason_is_told_as_it_was_written(
    stage: DiscordStage,
) -> None:
    await stage.proposes(PROD)
    stage.server.says(ANA, "!freeze retry p1 is under way")
    assert "Frozen by ana: retry p1 is under way." in await until(
        lambda: told(stage, "Nothing executes"), "the freeze is told"
    )
