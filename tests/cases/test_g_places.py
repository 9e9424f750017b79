"""Cases G13, G14 and G16: a decision is bound to its place, and nothing is decided by a look."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import httpx

from bot.intake.doors import served_doors
from bot.intake.http.table import OPERATIONS
from lifecycle.policy import Policy
from tests.builders import MAIL, PROD, a_policy, the_agents
from tests.fakes.discord_server.state import FOREIGN_CHANNEL, FOREIGN_GUILD, OTHER_CHANNEL
from tests.fakes.discord_stage import ANA, CROSS, TICK, DiscordStage, until
from tests.stage import in_memory

#: Direct messages with Ana.
DIRECT = "51001"


async def test_G13_a_copy_elsewhere_and_what_is_no_card_decide_nothing(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    server.state.join("900", guild=FOREIGN_GUILD)
    other = server.says(ANA, "no card")
    for channel in (OTHER_CHANNEL, FOREIGN_CHANNEL):
        copy = server.says("900", "a copy", channel=channel, embeds=card.data["embeds"])
        server.reacts(ANA, copy, TICK)
    server.reacts(ANA, card, TICK, channel_id=OTHER_CHANNEL)
    server.reacts(ANA, other, TICK, message_id="1")
    await discord_stage.ignored("wrong_place", 3)
    await discord_stage.quiet()

    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert await discord_stage.reviews(proposal_id) == []
    assert len(await discord_stage.audit("ignored", "wrong_place")) == 3
    assert discord_stage.tool("production-deploy").calls == []


async def test_G14_a_copy_in_a_direct_message_decides_nothing_and_breaks_nothing(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    server.state.add_channel(DIRECT, None, "", recipients=[])
    copy = server.says("900", "a copy", channel=DIRECT, embeds=card.data["embeds"])
    server.reacts(ANA, copy, TICK)
    server.reacts(ANA, copy, CROSS)
    await discord_stage.ignored("wrong_place", 2)
    hint = "Decisions count in the configured channel alone."
    await until(lambda: [text for text in server.said() if hint in text], "a hint")

    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    server.reacts(ANA, card, TICK)
    await discord_stage.reaches(proposal_id, "completed")


async def test_G16_no_card_on_discord_carries_a_link(discord_stage: DiscordStage) -> None:
    for base in (PROD, MAIL):
        card = await discord_stage.card(await discord_stage.proposes(base))
        assert not re.search(r"https?://|'url':|\"url\":", str(card.data["embeds"]))
        assert "url" not in str(card.data.get("components", []))


def published() -> Policy:
    agents = {"leila": replace(the_agents()["leila"], token_env="T_LEILA")}
    return a_policy(agents=agents)


async def test_G16_whoever_looks_at_any_address_decides_nothing(tmp_path: Path) -> None:
    preview = {"user-agent": "Slackbot-LinkExpanding 1.0", "authorization": "Bearer leila-token"}
    async with in_memory(tmp_path, published()) as world:
        await world.submits(PROD, proposal_id="p1")
        before = await world.proposal("p1")
        trail = await world.trail("p1")
        async with (
            served_doors(world.workflow, {"T_LEILA": "leila-token"}, "127.0.0.1", 0) as url,
            httpx.AsyncClient(base_url=url, headers=preview) as client,
        ):
            for operation in OPERATIONS:
                path = re.sub(r"\{\w+\}", "p1", operation.path)
                for headers in (None, {"authorization": ""}):
                    for method in ("GET", "HEAD"):
                        answer = await client.request(method, path, headers=headers)
                        assert answer.status_code < 500
        await world.keeps_house()

        assert await world.proposal("p1") == before
        assert await world.trail("p1") == trail
        assert all(not tool.calls for tool in world.toolbox.tools.values())
