"""A card whose embeds a moderator removed shows nothing: it is shown again, and no ✅ counts on
what nobody could see."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.rest_messages import SUPPRESS_EMBEDS
from tests.fakes.discord_server.state import BOT_ROLE, CHANNEL, FULL, GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

EDITS = "/channels/701/messages/\\d+$"
EMBED = 14
DUAL = {"approval_class": "dual"}


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


async def test_no_approval_counts_on_a_card_that_was_emptied_before_it_was_written_down(
    stage: DiscordStage,
) -> None:
    """As by bots that take the embeds off everything: it counted as shown, and showed nothing."""
    proposal_id, former = await seeded(stage, PROD)
    emptied = dict[str, asyncio.Event]()

    def at_once(message: Message) -> None:
        if not emptied and shows_it(message):
            emptied[message.id] = edits_wait(stage)
            stage.server.hides(message)

    stage.server.messages.before_answer = at_once
    stage.server.messages.after_answer_s = 0.1
    stage.server.deletes(former)
    await until(lambda: stage.audit("card_hidden"), "noted")
    ((message_id, gate),) = emptied.items()
    card = stage.server.state.messages[CHANNEL][message_id]
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("stale_card")
    gate.set()
    await until(lambda: shows_it(card), "shown again")
    await stage.card(proposal_id)
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert len(await stage.audit("card_hidden")) == 1
    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")


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


@pytest.mark.parametrize("by_somebody", [True, False], ids=["removed", "dropped by Discord"])
async def test_embeds_that_went_in_an_absence_are_shown_again_and_no_approval_on_them_counts(
    stage: DiscordStage, by_somebody: bool
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await stage.ends()
    if by_somebody:
        stage.server.hides(card)
    else:
        card.data["embeds"] = []
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


# -- without Embed Links Discord takes a card and shows nothing of it ---------------------------


async def may_embed(stage: DiscordStage, may: bool, *, told: bool = True) -> None:
    if may:
        for role in (BOT_ROLE, GUILD):
            stage.server.state.roles[role]["permissions"] = str(FULL)
    else:
        stage.server.forbid(EMBED)
    if told:
        stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
        await until(lambda: bool(stage.surface.problems) is not may, "told")


async def test_a_card_that_may_carry_no_embed_is_not_posted_until_it_may(
    stage: DiscordStage,
) -> None:
    await may_embed(stage, False)
    before = len(stage.server.called("POST", "/channels/701/messages$"))
    proposal_id = stage.sends(PROD, **DUAL)
    await until(stage.answers, "the answer")
    await until(lambda: stage.audit("attention", "card_undelivered"), "people are called")
    posts = stage.server.called("POST", "/channels/701/messages$")[before:]
    assert not any((call.json or {}).get("embeds") for call in posts)
    await may_embed(stage, True)
    assert shows_it(await stage.card(proposal_id))


async def test_no_approval_counts_on_a_card_that_was_posted_without_its_embed(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The ✅ waits until the card is written down, which this one never is.
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    await may_embed(stage, False, told=False)
    proposal_id = stage.sends(PROD)
    await until(stage.answers, "the answer")

    def posted() -> list[Message]:
        messages = stage.server.state.messages["701"].values()
        return [message for message in messages if message.data["components"]]

    card = (await until(posted, "posted, and shown in part"))[0]
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    await stage.passes(seconds=5)
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []


async def test_no_approval_counts_on_a_card_that_an_edit_left_without_its_embed(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await may_embed(stage, False, told=False)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: not shows_it(card), "edited, and nothing shown")
    await stage.quiet()
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    await stage.passes(seconds=5)
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []
    await may_embed(stage, True)

    async def again() -> bool:
        await stage.passes(seconds=61)
        return shows_it(card)

    await until(again, "shown again")
