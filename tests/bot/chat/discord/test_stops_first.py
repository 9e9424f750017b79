"""A stop on Discord waits for no note, no answer and nobody else's emoji."""

from __future__ import annotations

import asyncio
from typing import Any

from lifecycle.freezing import frozen
from tests.bot.chat.discord.cards import in_window, seeded
from tests.bot.chat.discord.standing import DEPLOY, SEND, state_of
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.rest import thread_json
from tests.fakes.discord_server.state import CHANNEL, GUILD
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until

POSTS = "/channels/701/messages$"
WINDOW_S = 900


def nothing_is_posted(stage: DiscordStage) -> tuple[asyncio.Event, Any]:
    """Let Discord answer no post until the event is set."""
    gate = asyncio.Event()
    return gate, stage.server.fails("POST", POSTS, gate=gate, times=None)


async def is_frozen(stage: DiscordStage) -> bool:
    return await stage.store.read(lambda tx: frozen(tx)) is not None


async def test_a_reviewers_stop_does_not_wait_for_the_note_to_somebody_else(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    proposal_id, card = await seeded(stage, PROD)
    gate, held = nothing_is_posted(stage)
    stage.server.reacts(CAL, card, CROSS)
    await until(lambda: held.seen, "the note to cal")
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("already_decided")
    assert stage.tool(DEPLOY).verbs() == []
    gate.set()
    await stage.quiet()


async def test_a_reviewers_stop_does_not_wait_until_somebody_elses_emoji_is_taken_off(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    proposal_id, card = await seeded(stage, PROD)
    gate = asyncio.Event()
    held = stage.server.fails("DELETE", "/reactions/", gate=gate, times=None)
    stage.server.reacts(CAL, card, CROSS)
    await until(lambda: held.seen, "taking cal's off")
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    gate.set()
    await stage.quiet()


async def test_one_persons_typed_stops_wait_for_no_answer(discord_stage: DiscordStage) -> None:
    stage = discord_stage
    first, _ = await in_window(stage)
    second, card = await seeded(stage, MAIL, parameters={**MAIL["parameters"], "subject": "two"})
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(second, "executing")
    await stage.quiet()
    gate, _ = nothing_is_posted(stage)
    stage.server.says(BEN, f"!reject {first} wrong recipient")
    stage.server.says(BEN, f"!reject {second} wrong recipient")
    await stage.reaches(first, "rolled_back")
    await stage.reaches(second, "rolled_back")
    gate.set()
    await stage.quiet()


async def test_a_form_does_not_wait_for_the_note_to_somebody_else(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    proposal_id, card = await in_window(stage)
    gate, held = nothing_is_posted(stage)
    stage.server.reacts(CAL, card, CROSS)
    await until(lambda: held.seen, "the note to cal")
    stage.server.submits(BEN, f"signoff:reason:{card.id}", text="wrong recipient")
    await stage.reaches(proposal_id, "rolled_back")
    gate.set()
    await stage.quiet()


async def test_a_window_does_not_close_over_a_typed_stop_that_is_stored_and_not_worked(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    proposal_id, card = await in_window(stage)
    gate = asyncio.Event()
    # A thread that the bot does not know: Discord is asked whose it is, and does not answer.
    thread = card.id
    stage.server.state.add_channel(thread, GUILD, "why", **thread_json(thread, CHANNEL))
    held = stage.server.fails("GET", f"/channels/{thread}$", gate=gate, times=None)
    stage.server.says(BEN, f"!reject {proposal_id} wrong recipient", channel=thread)
    await until(lambda: held.seen, "asking for the thread")
    stage.clock.advance(WINDOW_S + 1)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    assert await state_of(stage, proposal_id) == "executing"
    assert stage.tool(SEND).verbs() == ["execute"]
    gate.set()
    await stage.reaches(proposal_id, "rolled_back")
    await stage.quiet()


async def test_a_freeze_does_not_wait_for_the_answer_to_what_its_operator_asked_before(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    gate, _ = nothing_is_posted(stage)
    stage.server.says(ANA, "!pending")
    stage.server.says(ANA, "!freeze everything is wrong")
    await until(lambda: is_frozen(stage), "frozen")
    gate.set()
    await stage.quiet()


async def test_answers_to_one_person_come_in_the_order_of_their_questions(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    gate, held = nothing_is_posted(stage)
    for words in ("!pending", "!show nothing", "!tools"):
        stage.server.says(ANA, words)
    await until(lambda: held.seen, "the first answer")
    gate.set()
    await stage.quiet()
    told = stage.server.said()

    def place(words: str) -> int:
        return next(number for number, each in enumerate(told) if words in each)

    assert place("0 pending") < place("nothing") < place(SEND)
