"""Cases G13, G14 and G16: a decision is bound to its place, and nothing is decided by a look."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.chat.discord.views import APPROVE
from bot.intake.doors import served_doors
from bot.intake.http.table import OPERATIONS
from lifecycle.policy import Policy
from tests.builders import MAIL, PROD, a_policy, the_agents
from tests.fakes.discord_server.state import FOREIGN_CHANNEL, FOREIGN_GUILD, OTHER_CHANNEL
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until
from tests.stage import in_memory

#: Direct messages with Ana.
DIRECT = "51001"


async def undecided(stage: DiscordStage, proposal_id: str) -> bool:
    """Say whether nothing at all came of what was done."""
    proposal = await stage.proposal(proposal_id)
    reviews = await stage.reviews(proposal_id)
    calls = stage.tool("production-deploy").calls
    return proposal.state.value == "sentinel_approved" and not reviews and not calls


async def test_G13_a_decision_is_bound_to_server_channel_and_message(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    server.state.join("900", guild=FOREIGN_GUILD)
    event = server.reactions._reaction_event("701", card, ANA, TICK, 0)
    for elsewhere in ({"channel_id": OTHER_CHANNEL}, {"guild_id": FOREIGN_GUILD}):
        server.gateway.dispatch("MESSAGE_REACTION_ADD", event | elsewhere)
    press, shown = {"custom_id": APPROVE, "component_type": 2}, card.seen_by("900")
    server.interactions.begin(ANA, OTHER_CHANNEL, 3, press, message=shown)
    server.interactions.begin(ANA, "701", 3, press, message=shown, guild_id=FOREIGN_GUILD)
    for channel in (OTHER_CHANNEL, FOREIGN_CHANNEL):
        copy = server.says("900", "a copy", channel=channel, embeds=card.data["embeds"])
        server.reacts(ANA, copy, TICK)
    server.gateway.dispatch("MESSAGE_REACTION_ADD", event | {"message_id": "1"})
    await discord_stage.quiet()

    rows = await discord_stage.audit("ignored")
    reasons = sorted(row["reason"] for row in rows)
    assert reasons == ["unknown_proposal"] + ["wrong_place"] * 6
    assert {row["actor"]["id"] for row in rows} == {"ana"}
    assert await undecided(discord_stage, proposal_id)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("channel", "code", "hint"),
    [
        (OTHER_CHANNEL, "wrong_place", "Decisions count in the configured channel alone."),
        ("701", "unknown_proposal", "This is not the card that counts"),
    ],
    ids=["elsewhere", "beside the card"],
)
async def test_G13_a_forwarded_card_is_no_card_and_whoever_decides_on_it_is_told(
    discord_stage: DiscordStage, channel: str, code: str, hint: str
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    place = {"type": 1, "guild_id": "700", "channel_id": "701", "message_id": card.id}
    copy = server.says(BEN, "", channel=channel, message_reference=place)
    server.reacts(ANA, copy, TICK)
    server.unreacts(ANA, copy, TICK)
    server.reacts(ANA, copy, CROSS)
    await discord_stage.quiet()

    rows = await discord_stage.audit("ignored")
    assert [(row["reason"], row["actor"]["id"]) for row in rows] == [(code, "ana")] * 2
    (told,) = [text for text in server.said() if text.startswith("ana:")]
    assert hint in told
    assert await undecided(discord_stage, proposal_id)


LONG = MAIL | {"parameters": MAIL["parameters"] | {"body": "word " * 900}}


@pytest.mark.parametrize("emoji", [TICK, CROSS])
@pytest.mark.parametrize("base", [PROD, LONG], ids=["short", "in several messages"])
async def test_G13_whoever_decides_on_what_show_answers_is_told_where_the_card_stands(
    discord_stage: DiscordStage, base: Mapping[str, Any], emoji: str
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(base, proposal_id="_p_1")
    card = await discord_stage.card(proposal_id)
    before = set(server.state.messages["701"])
    server.says(CAL, f"!show {proposal_id}")
    await discord_stage.quiet()
    messages = server.state.messages["701"].items()
    shown = [m for number, m in messages if number not in before and m.data["author"]["id"] != CAL]
    assert (len(shown) > 1) is (base is LONG)
    for message in shown:
        server.reacts(ANA, message, emoji)
    await discord_stage.quiet()

    told = [text for text in server.said() if text.startswith("ana:")]
    assert len(told) == len(shown)
    assert all("not the card that counts" in text and f"/{card.id}" in text for text in told)
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert await discord_stage.reviews(proposal_id) == []


async def test_G13_whoever_decides_on_what_show_answers_of_what_has_ended_is_told_so(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    server.reacts(BEN, await discord_stage.card(proposal_id), CROSS)
    await discord_stage.reaches(proposal_id, "rejected")
    server.says(CAL, f"!show {proposal_id}")
    await discord_stage.quiet()
    (shown,) = (m for m in server.state.messages["701"].values() if m.data["content"][:1] == "🔔")
    server.reacts(ANA, shown, TICK)
    await discord_stage.quiet()

    (told,) = [text for text in server.said() if text.startswith("ana:")]
    assert f"{proposal_id} is rejected already" in told


async def test_G13_an_old_cards_button_tells_where_the_current_card_stands(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    old = await discord_stage.card(proposal_id)
    press, shown = {"custom_id": APPROVE, "component_type": 2}, old.seen_by("900")
    server.deletes(old)
    await discord_stage.quiet()
    card = await discord_stage.card(proposal_id)
    assert card.id != old.id
    pressed = server.interactions.begin(ANA, "701", 3, press, message=shown)
    await until(lambda: pressed.text, "an answer")

    assert f"https://discord.com/channels/700/701/{card.id}" in pressed.text
    assert await undecided(discord_stage, proposal_id)


async def test_G13_what_people_say_is_theirs_and_leaves_no_row(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    for channel in ("701", OTHER_CHANNEL):
        said = server.says(ANA, "no card", channel=channel)
        place = {"type": 1, "guild_id": "700", "channel_id": channel, "message_id": said.id}
        for message in (said, server.says(CAL, "", message_reference=place)):
            server.reacts(BEN, message, TICK)
    await discord_stage.quiet()

    assert await discord_stage.audit("ignored") == []
    assert server.said() == []


async def test_G13_emoji_on_what_is_no_card_make_no_storm_of_looks(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    server.says(ANA, "!help")
    await discord_stage.quiet()
    told = [m for m in server.state.messages["701"].values() if m.data["author"]["id"] == "900"]
    for account in (ANA, BEN, CAL, *(str(number) for number in range(5000, 5020))):
        event = server.reactions._reaction_event("701", told[-1], account, TICK, 0)
        server.gateway.dispatch("MESSAGE_REACTION_ADD", event)
    for _ in range(20):
        server.reacts(CAL, told[-1], CROSS)
        server.unreacts(CAL, told[-1], CROSS)
    event = server.reactions._reaction_event("701", card, CAL, TICK, 0)
    for number in range(20):
        unknown = {"message_id": str(6000 + number), "message_author_id": "900"}
        server.gateway.dispatch("MESSAGE_REACTION_ADD", event | unknown)
    await discord_stage.quiet()

    assert len(await discord_stage.audit("ignored", "unknown_proposal")) == 63
    looked = [call.path for call in server.called("GET", r"/messages/\d+$")]
    assert looked.count(f"/channels/701/messages/{told[-1].id}") == 1
    assert len(looked) == 1 + 5, "cal alone made it look at five more"


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


@pytest.mark.parametrize("emoji", [TICK, CROSS])
async def test_G14_an_event_that_names_no_server_decides_nothing_on_the_card_itself(
    discord_stage: DiscordStage, emoji: str
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    event = discord_stage.server.reactions._reaction_event("701", card, ANA, emoji, 0)
    del event["guild_id"]
    assert "member" not in event
    discord_stage.server.gateway.dispatch("MESSAGE_REACTION_ADD", event)
    (row,) = await discord_stage.ignored("wrong_place")

    assert row["actor"]["id"] == "ana"
    assert await undecided(discord_stage, proposal_id)


async def test_G14_what_is_typed_in_a_direct_message_or_elsewhere_does_nothing(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    proposal_id = await discord_stage.proposes(PROD)
    server.state.add_channel(DIRECT, None, "", recipients=[])
    for channel in (DIRECT, OTHER_CHANNEL):
        for words in (f"approve {proposal_id}", f"reject {proposal_id} no", "freeze now"):
            server.says(ANA, f"!{words}", channel=channel)
    await discord_stage.ignored("wrong_place", 6)
    await discord_stage.quiet()

    assert await undecided(discord_stage, proposal_id)
    assert await discord_stage.audit("frozen") == []
    server.says(ANA, f"!approve {proposal_id}")
    await discord_stage.reaches(proposal_id, "completed")


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
