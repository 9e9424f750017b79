"""One proposal on Discord and on Slack: one card each, the first decision wins, all follow."""

from __future__ import annotations

import asyncio

from tests.builders import MAIL, PROD
from tests.mirror import Mirror, mirrored
from tests.slack_stage import eventually, eventually_async, shown

_DUAL = {"approval_class": "dual"}


async def test_M11_a_decision_on_slack_is_seen_on_discord() -> None:
    async with mirrored() as both:
        _, card = await both.proposes(PROD)
        await both.slack.server.reacts("UANA", card.ts)
        await both.both_show("p1", "completed")
        seeded = await both.discord_card("p1")
        await eventually(lambda: seeded.who("✅") + seeded.who("❌") == [], "removing the seeds")
        assert len(both.discord_cards("p1")) == len(both.slack.cards("p1")) == 1


async def test_M11_a_decision_on_discord_is_seen_on_slack() -> None:
    async with mirrored() as both:
        there, _ = await both.proposes(MAIL)
        both.discord.reacts("1001", there, "✅")
        await both.both_show("p1", "executing")
        both.discord.reacts("1002", there, "❌")
        await both.both_show("p1", "rolled_back")


async def test_M11_what_expires_or_is_withdrawn_ends_on_both() -> None:
    async with mirrored() as both:
        await both.proposes(PROD)
        await both.proposes(PROD, parameters={"version": "v2"})
        await both.slack.server.says("ULEILA", "<@USIGNOFF> withdraw p1")
        await both.both_show("p1", "rejected")
        both.slack.world.clock.advance(86_401)
        await both.slack.world.workflow.expire_due()
        await both.both_show("p2", "rejected")


async def test_G08_one_person_on_both_platforms_counts_once() -> None:
    async with mirrored() as both:
        there, here = await both.proposes(PROD, **_DUAL)
        both.discord.reacts("1001", there, "✅")
        await eventually(lambda: "approved by 1 of 2 (ana)" in shown(here), "ana on Slack's card")
        await both.slack.server.reacts("UANA", here.ts)
        await both.slack.settles()
        assert (await both.slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await both.slack.codes("p1") == ["already_counted"]
        await both.slack.server.reacts("UBEN", here.ts)
        await both.both_show("p1", "completed")
        reviews = await both.slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [(r.person, r.surface) for r in reviews] == [("ana", "discord"), ("ben", "slack")]


async def test_the_first_decision_wins_whatever_the_platform() -> None:
    async with mirrored() as both:
        there, here = await both.proposes(PROD)
        both.discord.reacts("1001", there, "❌")
        await both.slack.server.reacts("UBEN", here.ts)
        await both.slack.settles()
        ended = await _ended(both)
        assert ended in ("rejected", "completed")
        await both.both_show("p1", ended)
        calls = both.slack.world.tool("production-deploy").calls
        assert len(calls) == (1 if ended == "completed" else 0)


async def test_N04_each_platform_has_one_card_and_one_place() -> None:
    async with mirrored() as both:
        for number in (1, 2):
            await both.proposes(PROD, parameters={"version": f"v{number}"})
        for number in (1, 2):
            assert len(both.discord_cards(f"p{number}")) == 1
            assert len(both.slack.cards(f"p{number}")) == 1


async def test_a_platform_that_is_down_neither_blocks_the_other_nor_loses_its_cards() -> None:
    async with mirrored() as both:
        await both.slack.server.stop()
        document = both.slack.document(PROD, proposal_id="p1", actor="leila")
        answer = await both.slack.world.workflow.submit(
            both.slack.bytes_of(document), both.slack.leila()
        )
        assert answer.state == "sentinel_approved"
        there = await both.discord_card("p1")
        both.discord.reacts("1001", there, "✅")

        async def completed() -> bool:
            await both.slack.world.workflow.open_ready()
            return (await both.slack.world.proposal("p1")).state.value == "completed"

        await eventually_async(completed, "the end")
        await both.slack.server.start()
        both.slack.world.clock.advance(90)
        await both.slack.keeps_delivering(
            lambda: any("completed" in shown(card) for card in both.slack.cards("p1"))
        )
        assert len(both.slack.cards("p1")) == 1


async def test_O03_a_platform_that_hears_nothing_is_reported_on_the_other() -> None:
    async with mirrored() as both:
        await both.slack.server.stop()
        await eventually(lambda: both.slack.hearing.since_ms is None, "noticing")
        both.slack.world.clock.advance(60)
        await both.slack.broadcast.catch_up()
        await eventually(lambda: "slack has heard nothing" in both.said_on_discord(), "the report")
        flag = await both.slack.world.store.read(lambda tx: tx.flags.get("surfaces"))
        assert "slack" in flag["troubles"]
        await both.slack.server.start()
        await eventually(lambda: both.slack.hearing.connected, "hearing again")
        await both.slack.broadcast.catch_up()
        await eventually(lambda: "slack hears again" in both.said_on_discord(), "the all-clear")
        assert both.said_on_discord().count("slack has heard nothing") == 1


async def test_a_platform_that_cannot_start_leaves_the_other_to_work() -> None:
    async with mirrored(opened=False, bot_token="xoxb-wrong") as both:
        both.slack.serving = asyncio.create_task(
            both.slack.broadcast.serve(both.slack.world.workflow)
        )
        await eventually(lambda: both.on_discord.hearing.connected, "Discord", deadline_s=20)
        document = both.slack.document(PROD, proposal_id="p1", actor="leila")
        await both.slack.world.workflow.submit(both.slack.bytes_of(document), both.slack.leila())
        await both.discord_card("p1")
        assert not both.slack.serving.done()


async def _ended(both: Mirror) -> str:
    found: list[str] = []

    async def terminal() -> bool:
        await both.slack.world.workflow.open_ready()
        proposal = await both.slack.world.proposal("p1")
        found.append(proposal.state.value)
        return proposal.terminal

    await eventually_async(terminal, "an end")
    return found[-1]
