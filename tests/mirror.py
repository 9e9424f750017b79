"""Discord and Slack at once, each with its own server, over one law."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bot.chat.discord.notifier import DiscordSurface
from bot.chat.discord.settings import DiscordSettings
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import CHANNEL, GUILD
from tests.fakes.discord_server.state import Message as DiscordMessage
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack


@dataclass
class Mirror:
    """One bot on two platforms."""

    slack: OnSlack
    discord: DiscordServer
    on_discord: DiscordSurface

    async def proposes(self, base: Any, /, **changes: Any) -> tuple[DiscordMessage, Message]:
        """Let leila propose on Slack; return the cards on Discord and on Slack."""
        card = await self.slack.proposes(base, **changes)
        proposal_id = changes.get("proposal_id", f"p{self.slack.number}")
        return await self.discord_card(proposal_id), card

    async def discord_card(self, proposal_id: str) -> DiscordMessage:
        found = await eventually(lambda: self.discord_cards(proposal_id), "the card on Discord")
        return found[-1]

    def discord_cards(self, proposal_id: str) -> list[DiscordMessage]:
        """Return the cards of a proposal that stand on Discord."""
        footer = f"{proposal_id} \u00b7 sha256"
        messages = self.discord.state.messages[CHANNEL].values()
        return [m for m in messages if footer in str(m.data.get("embeds"))]

    async def both_show(self, proposal_id: str, state: str) -> None:
        """Wait until both cards show a state."""
        await self.slack.stands(proposal_id, state)
        await eventually(
            lambda: state in str([m.data["embeds"] for m in self.discord_cards(proposal_id)]),
            f"{state} on Discord",
        )

    def said_on_discord(self) -> str:
        return "\n".join(self.discord.said())

    def said_on_slack(self) -> str:
        return "\n".join(m.text for m in self.slack.server.workspace.messages)


@asynccontextmanager
async def mirrored(*, opened: bool = True, **changes: Any) -> AsyncIterator[Mirror]:
    """Set the stage; the bot hears on both where `opened`."""
    discord = DiscordServer()
    await discord.start()
    made: list[DiscordSurface] = []

    def beside(clock: FakeClock) -> list[DiscordSurface]:
        settings = DiscordSettings(
            token=discord.token,
            token_env="DISCORD_TOKEN",
            guild=int(GUILD),
            channel=int(CHANNEL),
            api_base=discord.api_base,
            gateway=discord.gateway_url,
        )
        made.append(DiscordSurface(settings, clock))
        return made

    try:
        async with on_slack(opened=opened, beside=beside, **changes) as slack:
            mirror = Mirror(slack, discord, made[0])
            if opened:
                await eventually(lambda: made[0].hearing.connected, "Discord", deadline_s=20)
            yield mirror
    finally:
        await discord.stop()
