"""A bot in the process of a test, and commands that are run beside it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from bot.bootstrap import App, opened
from bot.cli.app import app as signoff
from bot.config import load_config
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.builders import REFUND, a_document
from tests.fakes.notifier import PlainNotifier

#: The disk is full for whoever writes an entry.
FULL = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(FAIL, 'disk full'); END"


class Unanswered(PlainNotifier):
    """A chat that does not say who is a member: whatever asks it waits."""

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[str]:
        await asyncio.Event().wait()
        return frozenset(people)


@asynccontextmanager
async def bot_beside(config: Path) -> AsyncIterator[App]:
    """A bot that is put together in this process, with its lock, and hears SIGHUP."""
    async with opened(load_config(config), {}, PlainNotifier()) as app:
        await app.workflow.start()
        loop, reloads = asyncio.get_running_loop(), set()
        loop.add_signal_handler(
            signal.SIGHUP, lambda: reloads.add(asyncio.create_task(app.reload()))
        )
        yield app
        loop.remove_signal_handler(signal.SIGHUP)
        await app.workflow.shut_down(1)


async def said(bot: App, *words: str) -> Any:
    """Run a command beside the bot and return how it ended."""
    line = ["--config", str(bot.config.path), *words]
    return await asyncio.to_thread(CliRunner().invoke, signoff, line)


async def status(bot: App) -> tuple[dict[str, Any], str]:
    """Return what `status` says to machines and to people."""
    as_json, words = await said(bot, "status", "--json"), await said(bot, "status")
    return json.loads(as_json.stdout), words.stdout


async def submits_p1(bot: App) -> None:
    """Let leila propose something that waits for people."""
    document = a_document(REFUND, proposal_id="p1", ts_ms=bot.workflow.world.clock.now_ms())
    leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
    await bot.workflow.submit(json.dumps(document).encode(), leila)


def spoil(bot: App, old: str, new: str) -> None:
    text = bot.config.path.read_text()
    assert text.count(old) == 1
    bot.config.path.write_text(text.replace(old, new))
