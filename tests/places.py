"""The three surfaces under the same verbs, for what must hold wherever people decide."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from bot.storage.memory import MemoryStore
from lifecycle.policy import Policy
from lifecycle.workflow import Workflow
from tests.builders import a_document
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import BOT, CHANNEL
from tests.fakes.discord_stage import DiscordStage, a_stage, until
from tests.fakes.tools import NotingTool
from tests.slack_stage import OnSlack, eventually, on_slack, shown, unescaped
from tests.terminal import Terminal, a_terminal

SURFACES = ("discord", "slack", "terminal")
#: Discord's accounts by name; Slack's are the names in capitals behind a U.
_NUMBERS = {"ana": "1001", "ben": "1002", "cal": "1003", "leila": "911", "nour": "912"}


class Place(Protocol):
    """Where people and agents meet; everything is worked off when a verb returns."""

    workflow: Workflow
    clock: FakeClock

    async def says(self, who: str, words: str) -> None:
        """Let somebody type a command to the bot."""

    async def card(self, proposal_id: str) -> str:
        """Return what stands on the current card of a proposal, as people read it."""

    def all_of_ours(self) -> str:
        """Return everything that the bot wrote to anybody, as it went out."""

    def tool(self, name: str) -> NotingTool:
        """Return the noting tool of this name."""

    async def settles(self) -> None:
        """Wait until all that was heard is worked and shown."""


async def proposes(place: Place, base: Mapping[str, Any], /, **changes: Any) -> None:
    """Let leila propose, made now."""
    document = a_document(base, **({"ts_ms": place.clock.now_ms()} | changes))
    await place.says("leila", f"propose {json.dumps(document)}")


class AtDiscord:
    """Discord."""

    def __init__(self, stage: DiscordStage) -> None:
        self.stage = stage
        self.workflow, self.clock, self.tool = stage.workflow, stage.clock, stage.tool

    async def says(self, who: str, words: str) -> None:
        self.stage.server.says(_NUMBERS[who], f"!{words}")
        await self.settles()

    async def card(self, proposal_id: str) -> str:
        embed = (await self.stage.card(proposal_id)).data["embeds"][0]
        texts = [embed["title"], embed.get("description") or "", embed["footer"]["text"]]
        texts += [text for each in embed["fields"] for text in (each["name"], each["value"])]
        return "\n".join(texts)

    def all_of_ours(self) -> str:
        """Leave out what a reply quotes: the agent wrote that."""
        found = self.stage.server.state.messages[CHANNEL].values()
        ours = [{**m.data, "referenced_message": None} for m in found if _by_bot(m.data)]
        files = [body.decode() for body in self.stage.server.state.files.values()]
        return json.dumps([ours, files], ensure_ascii=False)

    async def settles(self) -> None:
        await self.stage.quiet()
        await self.stage.keeps_house()
        await until(self._all_shown, "the cards")

    async def _all_shown(self) -> bool:
        return not await self.stage.store.read(lambda tx: tx.cards.stale("discord", 2**60, 10))


def _by_bot(message: Mapping[str, Any]) -> bool:
    return bool(message["author"]["id"] == BOT)


class AtSlack:
    """Slack."""

    def __init__(self, slack: OnSlack) -> None:
        self.slack = slack
        self.workflow, self.clock = slack.world.workflow, slack.world.clock
        self.tool = slack.world.tool

    async def says(self, who: str, words: str) -> None:
        text = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        await self.slack.server.says(f"U{who.upper()}", f"<@USIGNOFF> {text}")
        await self.settles()

    async def card(self, proposal_id: str) -> str:
        found = await eventually(lambda: self.slack.cards(proposal_id), "the card")
        return shown(found[-1])

    def all_of_ours(self) -> str:
        workspace = self.slack.server.workspace
        ours = [m.as_json() for m in workspace.messages if m.user == workspace.bot_user]
        files = [file.body.decode() for file in workspace.files.values()]
        aside = [workspace.ephemeral, self.slack.server.responses]
        return unescaped(json.dumps([ours, files, aside], ensure_ascii=False))

    async def settles(self) -> None:
        for _ in range(2):  # what was worked may open something, and a card follows it
            await self.slack.settles()
            await self.slack.world.workflow.open_ready()
            await self.slack.broadcast.delivery("slack").drain()


class AtTerminal:
    """The terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.workflow, self.clock = terminal.world.workflow, terminal.world.clock
        self.tool = terminal.world.tool

    async def says(self, who: str, words: str) -> None:
        await self.terminal.types(f"{who}: {words}")
        await self.settles()

    async def card(self, proposal_id: str) -> str:
        cards = "\n".join(self.terminal.printed).split("🔔 PROPOSAL")
        return next(each for each in reversed(cards) if f"\n  {proposal_id} · sha256" in each)

    def all_of_ours(self) -> str:
        return "\n".join(self.terminal.printed)

    async def settles(self) -> None:
        notifier: Any = self.workflow.world.notifier
        for _ in range(2):
            await notifier.delivery("terminal").drain()
            await self.workflow.open_ready()
            await self.workflow.idle()


@asynccontextmanager
async def at(surface: str, policy: Policy | None = None) -> AsyncIterator[Place]:
    """Set the stage on one of the surfaces; people and agents are those of the cases."""
    match surface:
        case "discord":
            server = DiscordServer()
            await server.start()
            stage = a_stage(MemoryStore(), server, policy)
            await stage.begins()
            try:
                yield AtDiscord(stage)
            finally:
                await stage.ends()
                await server.stop()
        case "slack":
            async with on_slack(policy) as slack:
                yield AtSlack(slack)
        case _:
            yield AtTerminal(a_terminal(policy))
