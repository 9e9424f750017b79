"""The real Slack surface against the fake server, over the whole law: what people do and see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bot.chat.showing.broadcast import Broadcast, ServedSurface
from bot.chat.slack.notifier import SlackSurface
from bot.chat.slack.settings import SlackSettings
from bot.config.models import SlackEntry, SlackHttpEntry
from bot.storage.memory import MemoryStore
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from tests.fakes.clock import FakeClock
from tests.fakes.slack_server import SlackServer
from tests.slack_stage.seen import shown, unescaped
from tests.slack_stage.story import OnSlack
from tests.slack_stage.waiting import QuickClock, eventually, eventually_async
from tests.world import a_world

__all__ = [
    "OnSlack",
    "QuickClock",
    "eventually",
    "eventually_async",
    "on_slack",
    "shown",
    "the_settings",
    "unescaped",
]


def the_settings(server: SlackServer, **changes: Any) -> SlackSettings:
    """Return settings for the fake server, over Socket Mode unless a port for events is given."""
    port = changes.pop("port", None)
    entry = SlackEntry(
        bot_token_env="SLACK_BOT_TOKEN",
        channel="C0OPS",
        api_base=server.api_base,
        http=SlackHttpEntry(port=port or 3000),
    )
    found: dict[str, Any] = {"entry": entry, "bot_token": server.workspace.bot_token}
    if port is None:
        found["app_token"] = server.workspace.app_token
    else:
        found["signing_secret"] = "shh"
    return SlackSettings(**(found | changes))


@asynccontextmanager
async def on_slack(
    policy: Policy | None = None,
    store: ProposalStore | None = None,
    *,
    opened: bool = True,
    beside: Callable[[FakeClock], Sequence[ServedSurface]] = lambda _clock: (),
    **changes: Any,
) -> AsyncIterator[OnSlack]:
    """Set the stage: server, law, surface; the bot hears where `opened`, others `beside` it."""
    world = a_world(store or MemoryStore(), policy)
    clock = QuickClock()
    world.clock = world.workflow.world.clock = clock
    async with SlackServer(clock.now_ms) as server:
        settings = the_settings(server, **changes)
        surface = SlackSurface(settings)
        broadcast = Broadcast([*beside(clock), surface])
        world.workflow.world.notifier = broadcast
        broadcast.attach(world.workflow.world)
        story = OnSlack(server, world, surface, broadcast, settings=settings)
        try:
            if opened:
                await story.opens()
            yield story
        finally:
            await story.closes()
            await world.workflow.shut_down(1.0)
