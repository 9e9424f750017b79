"""Discord is spared what it punishes: calls during a limit, identifications, connections in a row.

It bans an address that makes ten thousand refused calls in ten minutes, and takes the token of a
bot that identifies a thousand times a day.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
from types import SimpleNamespace
from typing import Any

import discord
import pytest
from discord.http import Route

from bot.chat.discord.sparing import Attempts, IdentifiedTooOften, Limits
from lifecycle.records import LONGEST_WAIT_MS
from tests.fakes.discord_server.faults import Bucket
from tests.fakes.discord_server.gateway import Socket
from tests.fakes.discord_stage import BEN, CROSS, DiscordStage, until

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
    assert "is limited until" not in " ".join(stage.surface.health())


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


async def test_a_limit_that_leaves_calls_to_be_made_keeps_none_back(stage: DiscordStage) -> None:
    """Some of Discord's limits are about many minutes, and tell so with the first call."""
    stage.server.bucket = Bucket(50, 600.0)
    for number in range(3):
        stage.sends(parameters=a_mail(number))
    await until(lambda: len(stage.server.cards()) == 3, "all cards", seconds=15)
    assert "is limited until" not in " ".join(stage.surface.health())


async def test_a_long_limit_that_is_used_up_is_met_once(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    before = len(stage.server.called("POST", POSTS))
    stage.server.bucket = Bucket(2, 600.0)
    for number in range(5):
        stage.sends(parameters=a_mail(number))
    await until(lambda: "is limited until" in " ".join(stage.surface.health()), "a limit")
    await stage.quiet()
    await waits(stage, 300)
    made = [call.status for call in stage.server.called("POST", POSTS)[before:]]
    assert made.count(200) == 2
    assert len(made) <= 4, "two were under way at once"
    gc.collect()
    assert "asyncio" not in {each.name for each in caplog.records if each.levelname == "ERROR"}


async def test_a_clock_that_is_set_back_makes_no_limit_longer(stage: DiscordStage) -> None:
    limit = stage.server.fails("POST", POSTS, status=429, retry_after=90.0)
    stage.sends()
    await until(lambda: limit.seen, "the refusal")
    await until(lambda: "is limited until" in " ".join(stage.surface.health()), "a limit")
    stage.clock._now_ms -= 1_800_000
    assert "is limited until" not in " ".join(stage.surface.health())


async def test_an_old_message_that_was_edited_too_often_keeps_no_other_edit_back(
    stage: DiscordStage,
) -> None:
    """Discord's limit of such edits is about messages that are older than an hour, and has a code
    of its own."""
    old, young = [await stage.card(await stage.proposes(parameters=a_mail(n))) for n in (1, 2)]
    said = '{"message": "Maximum number of edits to messages older than 1 hour", "code": 30046}'
    fault = stage.server.fails("PATCH", f"/{old.id}$", status=429, page=said, times=None)
    stage.server.reacts(BEN, old, CROSS)
    await until(lambda: fault.seen, "the refusal")
    await stage.quiet()
    before = len(stage.server.called("PATCH", f"/{young.id}$"))
    stage.server.reacts(BEN, young, CROSS)
    await until(
        lambda: len(stage.server.called("PATCH", f"/{young.id}$")) > before, "the other edit"
    )
    assert "is limited until" not in " ".join(stage.surface.health())


async def test_a_lost_client_is_replaced_although_a_page_asked_for_an_hour(
    stage: DiscordStage,
) -> None:
    """What asked for it may be gone with the line that was lost, and the bot would stay deaf."""
    page = {"status": 429, "page": True, "retry_after": 3_600.0}
    fault = stage.server.fails("POST", POSTS, **page)
    stage.sends()
    await until(lambda: fault.seen, "the page")
    await until(lambda: "every call is limited" in " ".join(stage.surface.health()), "a limit")
    first = stage.surface.supervisor.client
    stage.surface.supervisor.pause_s = 0.02
    await stage.server.gateway.close(4013)
    await until(lambda: stage.surface.supervisor.client not in (None, first), "a fresh client")
    await stage.hears()
    assert "is limited until" not in " ".join(stage.surface.health())


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


class Refusing:
    """What Discord, or what stands before it, says to one call after the other."""

    def __init__(self) -> None:
        self.now_ms, self.said = 0, list[dict[str, str] | None]()
        self.limits = Limits(lambda: self.now_ms)
        self._http: Any = SimpleNamespace(request=self._answered)
        self.limits.watch(self._http)

    async def _answered(self, _route: Route) -> None:
        headers = self.said.pop(0)
        if headers is not None:
            response: Any = SimpleNamespace(status=429, reason="", headers=headers)
            raise discord.HTTPException(response, "")

    async def call(self, path: str, said: dict[str, str] | None) -> None:
        self.said = [said]
        await self._http.request(Route("GET", path))

    async def left_s(self, path: str) -> float:
        """Return how long a call is kept back, of which Discord does not hear."""
        with pytest.raises(discord.RateLimited) as kept_back:
            await self.call(path, None)
        return kept_back.value.retry_after


async def test_what_discord_itself_refuses_is_about_that_call_alone_and_an_hour_at_most() -> None:
    line = Refusing()
    said = {"Content-Type": "application/json", "Retry-After": "1e9"}
    with pytest.raises(discord.HTTPException):
        await line.call("/one", said)

    assert await line.left_s("/one") == LONGEST_WAIT_MS / 1000
    await line.call("/other", None)


async def test_a_pause_of_which_nothing_is_said_grows_until_a_call_is_taken() -> None:
    line, pauses = Refusing(), list[float]()
    for taken_before in (False, False, True):
        if taken_before:
            await line.call("/one", None)
        with pytest.raises(discord.HTTPException):
            await line.call("/one", {})
        pauses.append(await line.left_s("/one"))
        line.now_ms += 60_000

    assert pauses == [5.0, 10.0, 5.0]


async def test_a_fresh_client_identifies_however_often_others_did() -> None:
    """The pauses between clients keep that below the thousand; else the bot would stay deaf."""
    attempts = Attempts()
    for _ in range(10):
        attempts.identify(anew=False)
    with pytest.raises(IdentifiedTooOften):
        attempts.identify(anew=True)
