"""A card whose embeds a moderator removed shows nothing: it is shown again, and no ✅ counts on
what nobody could see."""

from __future__ import annotations

import asyncio
import json

from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.rest_messages import SUPPRESS_EMBEDS
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

EDITS = "/channels/701/messages/\\d+$"


def shows_it(card: Message) -> bool:
    return "Sentinel" in json.dumps(card.data["embeds"])


def edits_wait(stage: DiscordStage) -> asyncio.Event:
    gate = asyncio.Event()
    stage.server.fails("PATCH", EDITS, gate=gate, says="PROPOSAL", times=None)
    return gate


async def test_a_card_whose_embeds_were_removed_is_shown_again(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.server.hides(card)
    await until(lambda: shows_it(card), "shown again")
    assert await stage.audit("card_hidden")
    await stage.card(proposal_id)
    await stage.quiet()
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert len(await stage.audit("card_hidden")) == 1


async def test_no_approval_counts_that_was_given_on_a_card_without_its_embeds(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    gate = edits_wait(stage)
    stage.server.hides(card)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("stale_card")
    gate.set()
    await until(lambda: shows_it(card), "shown again")
    await stage.card(proposal_id)
    await stage.quiet()
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")


async def test_no_button_approves_on_a_card_without_its_embeds(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    gate = edits_wait(stage)
    stage.server.hides(card)
    pressed = stage.server.clicks(ANA, card, "signoff:approve")
    await until(lambda: "nothing was counted" in pressed.text, "refused")
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    gate.set()


async def test_a_stop_counts_on_a_card_without_its_embeds(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    edits_wait(stage).set()
    stage.server.hides(card)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")


async def test_what_was_approved_before_the_embeds_went_does_not_begin_unseen(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    gate = edits_wait(stage)
    stage.server.hides(card)
    await until(lambda: stage.audit("card_hidden"), "noted")
    stage.server.says(ANA, f"!approve {proposal_id}")
    await stage.quiet()
    await stage.workflow.open_ready()
    assert stage.tool(DEPLOY).verbs() == []
    gate.set()
    await stage.reaches(proposal_id, "completed")


async def test_embeds_that_were_removed_in_an_absence_are_found_and_no_approval_on_them_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await stage.ends()
    stage.server.hides(card)
    unheard(card, ANA, TICK)
    await stage.begins()
    await until(lambda: shows_it(card), "shown again")
    await stage.quiet()
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []


async def test_every_edit_shows_what_was_removed_unheard(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    card.data |= {"embeds": [], "flags": SUPPRESS_EMBEDS}
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    await stage.card(proposal_id)
    assert shows_it(card)
