"""A client that is given up in the very moment in which it connects ends all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from discord.gateway import DiscordWebSocket

from bot.chat.discord.client import Supervisor
from tests.fakes.discord_stage import DiscordStage, until


def the_task_of(work: Any) -> asyncio.Task[Any]:
    """Return the task that runs this coroutine function."""
    tasks: dict[Any, asyncio.Task[Any]] = {
        getattr(each.get_coro(), "cr_code", None): each for each in asyncio.all_tasks()
    }
    return tasks[work.__code__]


async def test_the_bot_ends_although_the_gateway_lets_it_in_in_that_moment(
    discord_unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Python 3.12 discord.py loses a cancellation then: it would hear on for ever."""
    stage, supervising = discord_unstarted, asyncio.Event()
    real = DiscordWebSocket.from_client.__func__  # type: ignore[attr-defined]
    ending: list[asyncio.Task[Any]] = []

    async def let_in(cls: Any, *args: Any, **how: Any) -> Any:
        socket = await real(cls, *args, **how)
        ending.append(the_task_of(Supervisor.run))
        ending[0].cancel()
        supervising.set()
        return socket

    monkeypatch.setattr(DiscordWebSocket, "from_client", classmethod(let_in))
    await stage.begins(connected=False)
    await supervising.wait()
    await until(lambda: ending[0].done(), "the end of the client")
    stage.serving.cancel()
    await asyncio.wait({stage.serving})
