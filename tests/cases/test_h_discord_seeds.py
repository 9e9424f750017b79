"""Cases H08 and H11 on Discord: the bot's own emoji, cleared by others, slow or refused."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}


@pytest.mark.parametrize("emoji", [None, TICK], ids=["all of them", "one emoji"])
async def test_H08_a_clearing_is_noted_and_changes_no_review(
    discord_stage: DiscordStage, emoji: str | None
) -> None:
    waiting = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(waiting)
    discord_stage.server.reacts(ANA, card, TICK)
    await until(lambda: discord_stage.reviews(waiting), "counted")
    await until(lambda: "900" in card.who(TICK) and "900" in card.who(CROSS), "seeds")
    for times in (1, 2):
        discord_stage.server.clears(card, emoji)
        assert card.who(TICK) == []
        await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "seeds are back")
        await discord_stage.quiet()
        noted = await discord_stage.audit("card_cleared")
        assert [row["proposal_id"] for row in noted] == [waiting] * times
        assert {row["details"]["message_id"] for row in noted} == {card.id}
    assert [review.counts for review in await discord_stage.reviews(waiting)] == [True]
    discord_stage.server.reacts(BEN, card, TICK)
    await discord_stage.reaches(waiting, "completed")
    await until(lambda: card.who(CROSS) == [], "an ended card asks for nothing")
    discord_stage.server.clears(card, emoji)
    await until(lambda: discord_stage.audit("card_cleared"), "noted")
    await discord_stage.quiet()
    other = await discord_stage.proposes(PROD, parameters={"version": "v43"})
    seeded = await discord_stage.card(other)
    await until(lambda: seeded.who(CROSS) == ["900"], "whatever was due before is done")
    assert card.who(CROSS) == []


async def test_H08_a_clearing_changes_nothing_of_what_runs(discord_stage: DiscordStage) -> None:
    running = await discord_stage.proposes()
    card = await discord_stage.card(running)
    discord_stage.server.reacts(ANA, card, TICK)
    before = await discord_stage.reaches(running, "executing")
    for emoji in (None, CROSS):
        await until(lambda: "900" in card.who(CROSS), "its seed")
        discord_stage.server.clears(card, emoji)
        await discord_stage.quiet()
    after = await discord_stage.proposal(running)
    assert after == before
    assert [review.counts for review in await discord_stage.reviews(running)] == [True]


@pytest.mark.parametrize("missing", ["✅", "❌"])
async def test_H11_a_missing_seed_leaves_the_card_valid(
    discord_stage: DiscordStage, missing: str
) -> None:
    discord_stage.server.fails("PUT", f"/reactions/{missing}", status=403, code=50013, times=None)
    proposal_id = await discord_stage.proposes(PROD)
    seeds, health = discord_stage.surface.seeds, discord_stage.broadcast.health
    await until(lambda: "seeds are missing under 1 cards" in str(health()), "told")
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.reaches(proposal_id, "completed")
    await until(lambda: not seeds.missing, "an ended card misses nothing")


async def test_H11_who_is_faster_than_the_seeds_has_decided(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    server, slow = discord_stage.server, asyncio.Event()
    server.fails("PUT", f"/reactions/{TICK}/@me", gate=slow)
    server.fails("PUT", f"/reactions/{CROSS}/@me", status=403, code=50013, times=None)
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    await until(lambda: server.called("PUT", f"/reactions/{TICK}/@me"), "the first seed is put")
    server.reacts(ANA, card, TICK)
    await until(lambda: discord_stage.reviews(proposal_id), "counted")
    assert server.called("PUT", f"/reactions/{CROSS}/@me") == []
    slow.set()

    await until(lambda: f"{CROSS} is missing under card {card.id}" in caplog.text, "logged")
    server.says(BEN, "!status")
    await until(lambda: "seeds are missing under 1 cards" in "".join(server.said()), "shown")
    assert [review.person for review in await discord_stage.reviews(proposal_id)] == ["ana"]
    server.reacts(BEN, card, TICK)
    await discord_stage.reaches(proposal_id, "completed")
