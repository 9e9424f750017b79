"""Discord is spared what it punishes: calls during a limit, identifications, connections in a row.

It bans an address that makes ten thousand refused calls in ten minutes, and takes the token of a
bot that identifies a thousand times a day.
"""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from bot.chat.discord.sparing import Attempts
from tests.fakes.discord_server.gateway import Socket
from tests.fakes.discord_stage import DiscordStage, until

POSTS = r"/channels/701/messages$"
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")


def a_mail(number: int) -> dict[str, Any]:
    return {"to": "pat@partner.example", "subject": f"Invoice {number}", "body": "Hello"}


async def waits(stage: DiscordStage, seconds: int) -> None:
    """Let time pass, second by second, and do what the jobs do."""
    for _ in range(seconds):
        await stage.passes(seconds=1)
        await asyncio.wait_for(stage.broadcast.delivery("discord").drain(), 10)


async def all_cards(stage: DiscordStage, count: int) -> bool:
    await waits(stage, 1)
    return len(stage.server.cards()) == count


@pytest.mark.parametrize(("asked_s", "most"), [(None, 20), (600.0, 10)])
async def test_an_address_that_is_banned_makes_few_calls_until_the_ban_is_over(
    stage: DiscordStage, asked_s: float | None, most: int
) -> None:
    """What bans it is no answer of Discord's, and may not say for how long."""
    page = {"status": 429, "page": True, "retry_after": asked_s, "times": None}
    faults = [stage.server.fails(method, ".", **page) for method in METHODS]
    before = len(stage.server.calls)
    for number in range(10):
        stage.sends(parameters=a_mail(number))
    await until(lambda: len(stage.server.calls) > before, "the first refusal")
    await stage.quiet()
    await waits(stage, 300)
    assert len(stage.server.calls) - before <= most
    assert "every call is limited until" in " ".join(stage.surface.health())
    for fault in faults:
        fault.times = 0
    stage.clock.advance(300)
    await until(lambda: all_cards(stage, 10), "all cards")
    assert "limited" not in " ".join(stage.surface.health())


async def test_a_long_limit_of_one_call_is_met_once_and_keeps_no_other_call_back(
    stage: DiscordStage,
) -> None:
    card = await stage.card(await stage.proposes(parameters=a_mail(10)))
    limit = stage.server.fails("POST", POSTS, status=429, retry_after=600.0, times=None)
    before = len(stage.server.called("POST", POSTS))
    for number in range(5):
        stage.sends(parameters=a_mail(number))
    await until(lambda: len(stage.server.called("POST", POSTS)) > before, "the first refusal")
    await stage.quiet()
    seeds = len(stage.server.called("PUT", "/reactions/"))
    stage.server.clears(card)
    await until(lambda: len(stage.server.called("PUT", "/reactions/")) > seeds, "seeds again")
    await waits(stage, 300)
    assert len(stage.server.called("POST", POSTS)) <= before + 2, "two were under way at once"
    assert "channel_id}/messages is limited until" in " ".join(stage.surface.health())
    limit.times = 0
    stage.clock.advance(301)
    await until(lambda: all_cards(stage, 6), "all cards")


@pytest.mark.usefixtures("identified_at_once")
async def test_a_client_whose_sessions_are_declared_invalid_at_once_identifies_few_times(
    stage: DiscordStage,
) -> None:
    gateway = stage.server.gateway
    identify = gateway._identify
    stage.surface.supervisor.pause_s = 3_600.0

    async def in_vain(socket: Socket, asked: dict[str, Any]) -> None:
        await identify(socket, asked)
        socket.send({"op": 9, "d": False})

    gateway._identify = in_vain  # type: ignore[method-assign]
    gateway.send_op(9, False)
    await until(lambda: "TooOften" in " ".join(stage.surface.health()), "its client ended")
    assert gateway.identified == 5


async def test_after_many_connections_in_a_row_each_waits_a_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A gateway that asks each connection to come back would be called hundreds of times a
    second."""
    monkeypatch.setattr("bot.chat.discord.sparing.LONGEST_S", 0.05)
    made: list[float] = []

    async def connect(_url: str) -> None:
        made.append(asyncio.get_running_loop().time())

    http: Any = SimpleNamespace(ws_connect=connect)
    Attempts().watch(http)
    for _ in range(13):
        await http.ws_connect("ws://gateway.example")
    pauses = [after - before for before, after in itertools.pairwise(made)]
    assert min(pauses[9:]) > 0.04


async def test_a_gateway_that_sends_every_connection_away_is_not_hammered(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = asyncio.Event()
    sleep = asyncio.sleep

    async def noted(seconds: float, *rest: Any) -> None:
        waiting.set()
        await sleep(seconds, *rest)

    monkeypatch.setattr("bot.chat.discord.sparing.asyncio", _Beside(asyncio, sleep=noted))
    gateway = stage.server.gateway
    resume = gateway._resume

    async def sent_away(socket: Socket, asked: dict[str, Any]) -> None:
        await resume(socket, asked)
        socket.send({"op": 7, "d": None})

    gateway._resume = sent_away  # type: ignore[method-assign]
    gateway.send_op(7)
    await until(waiting.is_set, "a pause")
    assert gateway.resumed < 10


class _Beside:
    """A module with one name replaced."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self._module, self._replaced = module, replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(self._module, name)
