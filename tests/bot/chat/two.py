"""One process of the bot over both platforms, each with its own server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.chat.slack.notifier import SlackSurface
from bot.intake.doors import served_doors
from bot.jobs import catch_up
from bot.storage.opening import open_store
from lifecycle.policy import Policy
from tests.builders import PROD, a_policy
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import DiscordStage, until
from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.workspace import Message as SlackMessage
from tests.slack_stage import QuickClock, shown, the_settings


@dataclass
class Two(DiscordStage):
    """One process of the bot over both platforms, with or without the doors for agents."""

    roles: Mapping[str, int] = field(default_factory=dict)
    slack_server: SlackServer | None = None
    with_doors: bool = False
    doors: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begins(self, *, connected: bool = True) -> None:
        assert self.slack_server is not None
        self.slack = SlackSurface(the_settings(self.slack_server))
        await self.is_put_together(self.slack)
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

    async def on_both(
        self, base: Mapping[str, Any] = PROD, /, **changes: Any
    ) -> tuple[str, Message, SlackMessage]:
        """Let something be proposed, and its cards stand with their seeds."""
        proposal_id = await self.proposes(base, **changes)
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


@asynccontextmanager
async def on_two(
    server: DiscordServer, folder: Path, policy: Policy | None = None, *, with_doors: bool = False
) -> AsyncIterator[Two]:
    """Set the stage, and let the bot begin."""
    clock = QuickClock()
    async with SlackServer(clock.now_ms) as slack:
        store = await open_store("memory:", folder)
        stage = Two(store, server, policy or a_policy(), clock=clock, slack_server=slack)
        stage.with_doors = with_doors
        await stage.begins()
        yield stage
        await stage.ends()
        await store.close()
