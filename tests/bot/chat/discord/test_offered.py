"""The slash commands are offered whenever the server takes them, not at the start alone."""

from __future__ import annotations

from bot.chat.discord import offering
from tests.fakes.discord_server.state import BOT, BOT_ROLE, GUILD
from tests.fakes.discord_stage import ANA, DiscordStage, until

OFFERS = f"/guilds/{GUILD}/commands$"


def invites(stage: DiscordStage) -> None:
    stage.server.state.join(BOT, [BOT_ROLE])
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())


def puts_out(stage: DiscordStage) -> None:
    del stage.server.state.members[GUILD][BOT]
    stage.server.rest.commands.clear()
    stage.server.gateway.dispatch("GUILD_DELETE", {"id": GUILD})


async def are_offered(stage: DiscordStage) -> None:
    await until(lambda: stage.server.rest.commands.get(GUILD), "offered")
    asked = stage.server.runs(ANA, "pending")
    await until(lambda: "0 pending" in asked.text, "answered")


async def test_a_bot_that_is_invited_after_its_start_offers_its_commands(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    del stage.server.state.members[GUILD][BOT]
    await stage.begins()
    await until(lambda: stage.server.called("PUT", OFFERS), "offered in vain")
    assert stage.server.rest.commands == {}
    assert any("slash commands" in line for line in stage.broadcast.health())
    invites(stage)
    await are_offered(stage)
    assert not any("slash commands" in line for line in stage.broadcast.health())


async def test_a_bot_that_is_put_out_and_invited_again_offers_them_again(
    stage: DiscordStage,
) -> None:
    await are_offered(stage)
    puts_out(stage)
    await until(lambda: stage.surface.problems, "put out")
    invites(stage)
    await are_offered(stage)


async def test_a_bot_that_is_given_the_scope_later_offers_them_without_being_told(
    unstarted: DiscordStage, monkeypatch: object
) -> None:
    stage = unstarted
    monkeypatch.setattr(offering, "_AGAIN_S", (0.02,))  # type: ignore[attr-defined]
    stage.server.rest.takes_commands = False
    await stage.begins()
    await until(lambda: len(stage.server.called("PUT", OFFERS)) > 1, "again")
    assert any("applications.commands" in line for line in stage.broadcast.health())
    stage.server.rest.takes_commands = True
    await are_offered(stage)


async def test_a_server_that_is_seen_anew_is_not_offered_what_it_has(stage: DiscordStage) -> None:
    await are_offered(stage)
    before = len(stage.server.called("PUT", OFFERS))
    for _ in range(3):
        stage.server.gateway.dispatch("GUILD_UPDATE", stage.server.state.guild_json())
    await stage.quiet()
    assert len(stage.server.called("PUT", OFFERS)) == before
