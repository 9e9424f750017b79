"""One proposal on Discord and on Slack: a ❌ on one is heard before a ✅ on the other counts.

The doors for agents may be open beside them: they hear what happens, and change nothing of it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.chat.discord.notifier import DiscordSurface
from bot.chat.discord.settings import DiscordSettings
from bot.chat.showing.broadcast import Broadcast
from bot.chat.slack.notifier import SlackSurface
from bot.intake.doors import served_doors
from bot.jobs import catch_up
from bot.storage.opening import open_store
from lifecycle import world as law
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.permit import KeyRing
from lifecycle.workflow import Workflow
from sentinel_rules import load_rules
from tests.bot.chat.discord.standing import DEPLOY, unheard
from tests.builders import PROD, a_policy
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import CHANNEL, GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until
from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.workspace import Message as SlackMessage
from tests.fakes.spool import MemorySpool
from tests.slack_stage import QuickClock, shown, the_settings


@dataclass
class Two(DiscordStage):
    """One process of the bot over both platforms, with or without the doors for agents."""

    slack_server: SlackServer | None = None
    with_doors: bool = False
    doors: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begins(self, *, connected: bool = True) -> None:
        assert self.slack_server is not None
        settings = DiscordSettings(
            token=self.server.token,
            token_env="DISCORD_TOKEN",
            guild=int(GUILD),
            channel=int(CHANNEL),
            api_base=self.server.api_base,
            gateway=self.server.gateway_url,
            roles={},
            heartbeat_s=60.0,
        )
        self.surface = DiscordSurface(settings, self.clock)
        self.slack = SlackSurface(the_settings(self.slack_server))
        self.broadcast = Broadcast([self.surface, self.slack])
        nonces = (f"{number:032x}" for number in itertools.count(id(self.surface)))
        self.workflow = Workflow(
            law.World(
                store=self.store,
                clock=self.clock,
                notifier=self.broadcast,
                toolbox=self.toolbox,
                spool=MemorySpool(),
                ring=KeyRing({"k1": b"k" * 32}, "k1"),
                nonce=lambda: next(nonces),
                law=law.Law(self.policy, Sentinel(load_rules(self.policy.rules))),
                public_url="http://127.0.0.1:8080",
            )
        )
        self.broadcast.attach(self.workflow.world)
        await self.workflow.start()
        if self.with_doors:
            served = served_doors(self.workflow, {}, "127.0.0.1", 0)
            await self.doors.enter_async_context(served)
        self.serving = asyncio.create_task(self.broadcast.serve(self.workflow))
        if connected:
            await until(lambda: self.surface.hearing.connected, "Discord")
            await until(self.slack_hears, "Slack")
            await until(self.caught_up, "caught up")

    async def ends(self) -> None:
        await self.doors.aclose()
        await super().ends()

    def slack_hears(self) -> bool:
        return self.slack.desk is not None and self.slack.desk.hearing.connected

    async def caught_up(self) -> bool:
        await catch_up.run_once(self.workflow)
        assert self.slack.desk is not None
        return not self.surface.hearing.gap and not self.slack.desk.hearing.gap

    async def on_both(self) -> tuple[str, Message, SlackMessage]:
        """Let something be proposed, and its cards stand with their seeds."""
        proposal_id = await self.proposes(PROD)
        on_slack = await until(lambda: self.slack_card(proposal_id), "the card on Slack")
        await self.quiet()
        return proposal_id, self.server.cards()[0], on_slack

    def slack_card(self, proposal_id: str) -> SlackMessage | None:
        assert self.slack_server is not None
        cards = (m for m in self.slack_server.workspace.messages if m.blocks and not m.thread_ts)
        named = (m for m in cards if f" {proposal_id} · sha256" in shown(m))
        return next((m for m in named if "x" in m.reactions), None)

    def workflow_ended(self, proposal_id: str) -> Callable[[], Awaitable[bool]]:
        """Return what says whether it has ended, with nobody reading cards meanwhile."""

        async def ended() -> bool:
            await self.workflow.open_ready()
            return (await self.proposal(proposal_id)).terminal

        return ended

    async def decided(self, proposal_id: str) -> bool:
        """Do what the jobs do, and say whether it has ended."""
        await catch_up.run_once(self.workflow)
        await self.workflow.open_ready()
        return (await self.proposal(proposal_id)).terminal


@pytest.fixture(params=[False, True], ids=["alone", "beside the doors"])
async def two(
    request: pytest.FixtureRequest, discord_server: DiscordServer, tmp_path: Path
) -> AsyncIterator[Two]:
    clock = QuickClock()
    async with SlackServer(clock.now_ms) as slack:
        store = await open_store("memory:", tmp_path)
        stage = Two(store, discord_server, a_policy(), clock=clock, slack_server=slack)
        stage.with_doors = request.param
        await stage.begins()
        yield stage
        await stage.ends()
        await store.close()


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
