"""A ✅ that is found on a card and taken off before it counts opens nothing.

Between the two lies however long the other surface takes to say whether a ❌ stands there.
"""

from __future__ import annotations

import asyncio

from tests.bot.chat.discord.standing import DEPLOY, unheard
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import discord_server as discord_server
from tests.bot.chat.test_two_surfaces import two as two
from tests.fakes.discord_stage import ANA, TICK, until


async def both_in_a_gap(two: Two) -> None:
    assert two.slack.desk is not None
    two.clock.advance(1)
    two.surface.hearing.began()
    two.slack.desk.hearing.began()
    two.clock.advance(1)


async def nothing_begins(two: Two, proposal_id: str) -> bool:
    """Say whether it was taken back before anything could begin."""
    await two.workflow.open_ready()
    await two.workflow.idle()
    assert two.tool(DEPLOY).verbs() == []
    reviews = await two.reviews(proposal_id)
    return not any(review.counts for review in reviews)


async def test_an_approval_found_on_discord_that_goes_while_slack_is_asked_opens_nothing(
    two: Two,
) -> None:
    proposal_id, on_discord, _ = await two.on_both()
    unheard(on_discord, ANA, TICK)
    await both_in_a_gap(two)
    assert two.slack_server is not None
    two.slack_server.hold("reactions.get")
    reading = asyncio.create_task(two.surface.catch_up())
    await until(lambda: two.slack_server.waiting("reactions.get"), "Slack is asked")
    two.clock.advance(1)
    two.server.unreacts(ANA, on_discord, TICK)
    await until(two._all_heard, "heard")
    two.slack_server.release("reactions.get")
    await reading

    await until(lambda: nothing_begins(two, proposal_id), "taken back")


async def test_an_approval_found_on_slack_that_goes_while_discord_is_asked_opens_nothing(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both()
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts, heard=False)
    await both_in_a_gap(two)
    gate = asyncio.Event()
    held = two.server.fails("GET", f"/messages/{on_discord.id}", gate=gate, times=None)
    reading = asyncio.create_task(two.slack.catch_up())
    await until(lambda: held.seen, "Discord is asked")
    two.clock.advance(1)
    await two.slack_server.unreacts("UANA", on_slack.ts)
    gate.set()
    await reading

    await until(lambda: nothing_begins(two, proposal_id), "taken back")
