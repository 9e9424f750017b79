"""A card that Discord refuses as it is: it follows its proposal all the same, and grows whole."""

from __future__ import annotations

import json

from tests.bot.chat.discord.standing import DEPLOY
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import BOT_ROLE, FULL, GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

POSTS, EDITS = "/channels/701/messages$", "/channels/701/messages/\\d+$"
_ATTACH = 15


def shown(card: Message) -> str:
    return json.dumps(card.data["embeds"], ensure_ascii=False)


def attached(stage: DiscordStage, card: Message) -> str:
    (file,) = card.data["attachments"]
    return stage.server.state.files[file["id"]].decode()


def refuses_whole_cards(stage: DiscordStage) -> None:
    for method, path in (("POST", POSTS), ("PATCH", EDITS)):
        stage.server.fails(method, path, status=400, code=50035, says="Sentinel", times=None)


async def test_a_short_card_follows_its_proposal_to_the_end(stage: DiscordStage) -> None:
    refuses_whole_cards(stage)
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    assert "Discord refused the whole card" in shown(card)
    assert "waits for people" in shown(card)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    await stage.card(proposal_id)
    assert "rejected_by_person" in attached(stage, card)
    assert "rejected" in shown(card)
    assert "React" not in shown(card)
    assert card.data["components"] == []


async def test_a_card_that_is_refused_at_an_edit_alone_is_short_from_then_on(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    refuses_whole_cards(stage)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    await stage.card(proposal_id)
    assert "Discord refused the whole card" in shown(card)
    assert stage.tool(DEPLOY).verbs() == ["execute"]


async def test_a_short_card_is_whole_again_once_discord_takes_it(stage: DiscordStage) -> None:
    refuses_whole_cards(stage)
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    stage.server.faults.clear()
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    await stage.card(proposal_id)
    assert "Sentinel" in shown(card)
    assert card.data["attachments"] == []


async def test_a_card_without_its_file_gets_it_once_the_bot_may_attach_files(
    stage: DiscordStage,
) -> None:
    stage.server.forbid(_ATTACH)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    body = {**MAIL["parameters"], "body": "word " * 2_000}
    proposal_id = await stage.proposes(parameters=body)
    card = await stage.card(proposal_id)
    assert card.data["attachments"] == []
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.audit("ignored", "not_fully_shown"), "refused")
    for role in (BOT_ROLE, GUILD):
        stage.server.state.roles[role]["permissions"] = str(FULL)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: card.data["attachments"], "the file")
    assert "word word" in attached(stage, card)
