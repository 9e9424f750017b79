"""One proposal on Discord and on Slack: a ❌ on one is heard before a ✅ on the other counts.

The doors for agents may be open beside them: they hear what happens, and change nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.chat.discord.standing import DEPLOY, unheard
from tests.bot.chat.two import Two, on_two
from tests.builders import PROD
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, until
from tests.fakes.slack_server.workspace import Message as SlackMessage
from tests.slack_stage import shown


@pytest.fixture(params=[False, True], ids=["alone", "beside the doors"])
async def two(
    request: pytest.FixtureRequest, discord_server: DiscordServer, tmp_path: Path
) -> AsyncIterator[Two]:
    async with on_two(discord_server, tmp_path, with_doors=request.param) as stage:
        yield stage


async def test_a_stop_found_on_discord_beats_an_approval_found_on_slack_that_is_back_before(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both()
    await two.ends()
    two.server.reacts(BEN, on_discord, CROSS)
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts, heard=False)
    unread = two.server.fails("GET", "/messages/", status=500, times=None)
    two.server.gateway.accepts = False
    await two.begins(connected=False)
    await until(two.slack_hears, "Slack")
    for _ in range(10):
        assert not await two.decided(proposal_id)
        await asyncio.sleep(0.01)
    assert two.tool(DEPLOY).verbs() == []
    unread.times, two.server.gateway.accepts = 0, True
    await until(lambda: two.decided(proposal_id), "decided")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


async def test_a_stop_missed_on_discord_beats_an_approval_given_on_slack_meanwhile(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both()
    unheard(on_discord, BEN, CROSS)
    two.server.gateway.forgets_sessions = True
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "the loss")
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(lambda: two.decided(proposal_id), "decided")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


async def test_a_stop_on_a_discord_line_that_died_unnoticed_beats_an_approval_on_slack(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pulse._ANSWERED_S", 0.05)
    proposal_id, on_discord, on_slack = await two.on_both()
    two.server.gateway.answers_heartbeats = False
    unheard(on_discord, BEN, CROSS)
    two.clock.advance(5)  # no sign of life for so long
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(two.workflow_ended(proposal_id), "decided")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("live", [True, False])
async def test_an_approval_does_not_wait_for_good_for_a_platform_that_cannot_be_read(
    two: Two, live: bool
) -> None:
    proposal_id, _, on_slack = await two.on_both()
    assert two.slack_server is not None
    if live:
        two.server.fails("GET", "/messages/", status=500, times=None)
        two.server.gateway.accepts = False
        two.server.gateway.cut()
        await until(lambda: not two.surface.hearing.connected, "the loss")
        await two.slack_server.reacts("UANA", on_slack.ts)
    else:
        await two.ends()
        await two.slack_server.reacts("UANA", on_slack.ts, heard=False)
        two.server.fails("GET", "/messages/", status=500, times=None)
        two.server.gateway.accepts = False
        await two.begins(connected=False)
        await until(two.slack_hears, "Slack")
    for _ in range(10):
        assert not await two.decided(proposal_id)
        await asyncio.sleep(0.01)

    async def in_time() -> bool:
        two.clock.advance(1)
        return await two.decided(proposal_id)

    await until(in_time, "decided")
    assert two.tool(DEPLOY).verbs() == ["execute"]


async def test_a_stop_given_on_a_discord_card_before_it_was_found_again_beats_an_approval_on_slack(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    two.server.fails("POST", "/channels/701/messages$", acts=True, says="PROPOSAL", times=1)
    unread = two.server.fails("GET", "/channels/701/messages$", status=500, times=None)
    proposal_id = two.sends(PROD)
    await until(two.server.cards, "posted, its answer lost")
    two.server.reacts(BEN, two.server.cards()[0], CROSS)
    await two.ignored("unknown_proposal")
    unread.times = 0
    two.clock.advance(15)  # for so long a ❌ on a message that is no card stops everything
    two.surface.hearing.alive()
    two.broadcast.nudge()
    await two.card(proposal_id)
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(two.workflow_ended(proposal_id), "decided")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


async def test_a_stop_given_on_a_slack_card_before_it_was_found_again_beats_an_approval_on_discord(
    two: Two,
) -> None:
    slack = two.slack_server
    assert slack is not None
    slack.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
    unread = slack.fails("conversations.history", "error", times=None)
    proposal_id = two.sends(PROD)

    def posted() -> SlackMessage | None:
        return next((m for m in slack.workspace.messages if "PROPOSAL" in shown(m)), None)

    card = await until(posted, "posted, its answer lost")
    await slack.reacts("UBEN", card.ts, "x")
    await two.ignored("unknown_proposal")
    unread.times = 0
    two.clock.advance(15)  # for so long a ❌ on a message that is no card stops everything

    async def found_again() -> bool:
        two.clock.advance(5)
        two.broadcast.nudge()
        kept = await two.store.read(lambda tx: tx.cards.get(proposal_id, "slack"))
        return kept is not None and bool(kept.message_ids)

    await until(found_again, "found again")
    two.surface.hearing.alive()
    two.server.reacts(ANA, two.server.cards()[0], TICK)
    await until(two.workflow_ended(proposal_id), "decided")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []
