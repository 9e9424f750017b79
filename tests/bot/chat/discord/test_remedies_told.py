"""A remedy that is told on Discord can be typed there as it is told."""

from __future__ import annotations

import json
import re

import pytest

from bot.chat.discord.views import APPROVE
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.standing import DEPLOY
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until
from tests.fakes.tools import raising
from tests.stories.test_plans import HINTS, an_envelope


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


async def test_a_question_names_the_answer_as_it_is_typed_here(stage: DiscordStage) -> None:
    plan = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
    envelope = an_envelope(stage, [], plan, intent="Is it ready; with: answer q9 <words>")
    leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
    await stage.workflow.submit(json.dumps(envelope).encode(), leila)
    asked = await until(lambda: told(stage, "QUESTION"), "the question")
    assert "with: answer q9" in asked

    words = re.search(r"with: (\S*answer q-\S+) \\<words>$", asked)
    assert words is not None
    messages = stage.server.state.messages["701"].values()
    question = next(m for m in messages if "QUESTION" in m.data["content"])
    stage.server.reacts(BEN, question, TICK)
    note = await until(lambda: told(stage, "An emoji answers no question"), "the note to ben")
    assert note.endswith(words[0])
    stage.server.says(BEN, f"{words[1]} Yes, but only once.")
    (entry,) = await until(lambda: stage.audit("question_answered"), "the answer")
    assert entry["details"]["answer"] == "Yes, but only once."


@pytest.mark.parametrize("reason", ["thaw", "all: thaw.", "retry ID is under way", "x: answer"])
async def test_a_reason_that_looks_like_a_remedy_is_told_as_it_was_written(
    stage: DiscordStage, reason: str
) -> None:
    stage.server.says(ANA, f"!freeze {reason}")
    said = await until(lambda: told(stage, "Nothing executes"), "the freeze is told")
    assert f"Frozen by ana: {reason}" in said


@pytest.mark.parametrize(
    ("typed", "remedy", "code"),
    [
        ("!approve p1", "look, then: !settle p1 happened", "already_decided"),
        ("!reject p1", "Say why: !reject p1 \\<reason>", "reason_required"),
        ("!freeze", "Say why: !freeze \\<reason>", "reason_required"),
        ("!settle p1", "Write: !settle \\<id>", "unknown_command"),
    ],
)
async def test_whoever_types_a_command_in_vain_is_told_the_next_as_it_is_typed_here(
    stage: DiscordStage, typed: str, remedy: str, code: str
) -> None:
    assert await in_doubt(stage) == "p1"
    stage.server.says(ANA, typed)
    assert remedy in await until(lambda: told(stage, f"({code})"), "the answer")


@pytest.mark.parametrize("typed", ["!show p1", "!status"])
async def test_whoever_looks_is_told_the_commands_as_they_are_typed_here(
    stage: DiscordStage, typed: str
) -> None:
    await in_doubt(stage)
    stage.server.says(BEN, typed)
    said = await until(lambda: told(stage, "⚠️" if "show" in typed else "Policy"), "the answer")
    commands = re.findall(r"\S*(?:settle|retry|approve) p1", said)
    assert commands
    assert all(each.startswith("!") for each in commands)


async def test_a_card_names_in_each_place_what_is_typed_here(stage: DiscordStage) -> None:
    card = await stage.card(await in_doubt(stage))
    (embed,) = card.data["embeds"]
    calls = next(each["value"] for each in embed["fields"] if "Needs a person" in each["name"])
    assert "look, then: !settle p1 happened" in calls
    assert embed["fields"][-1]["value"].startswith("`!settle p1 happened`")


async def test_what_the_proposer_wrote_like_a_command_is_shown_as_it_was_written(
    stage: DiscordStage,
) -> None:
    await stage.proposes(PROD, parameters={"version": "approve p1", "!approve p1": "retry p1"})
    stage.server.says(BEN, "!show p1")
    said = await until(lambda: told(stage, "version"), "the answer")
    assert "version · approve p1" in said
    assert "!approve p1 · retry p1" in said
    assert "\n!approve p1 [reason]" in said.replace("\\", "")
