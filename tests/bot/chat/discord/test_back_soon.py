"""A gateway that can be reached again is heard again soon, however often it was lost before."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import discord
import pytest

from bot.chat.discord import client
from bot.chat.discord.pauses import LONGEST_S, Pauses
from tests.bot.chat.discord.cards import in_window
from tests.fakes.discord_stage import BEN, DiscordStage, until


def after_many_losses(monkeypatch: pytest.MonkeyPatch, pause_s: float) -> asyncio.Event:
    """Let discord.py wait for so long as it does after ten attempts within half an hour."""
    asleep = asyncio.Event()

    def long(_: object) -> float:
        asleep.set()
        return pause_s

    monkeypatch.setattr("discord.backoff.ExponentialBackoff.delay", long)
    return asleep


async def test_a_stop_typed_while_the_gateway_is_away_is_heard_soon_after_it_is_back(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pauses.LONGEST_S", 0.05)
    proposal_id, _ = await in_window(stage)
    asleep = after_many_losses(monkeypatch, 900.0)
    stage.server.gateway.accepts = False
    stage.server.gateway.cut()
    await asleep.wait()
    stage.server.says(BEN, f"!reject {proposal_id} wrong recipient")
    stage.server.gateway.accepts = True
    await until(lambda: stage.surface.hearing.connected, "connected", 10)
    await stage.reaches(proposal_id, "rolled_back")


def test_a_connection_that_stood_and_was_closed_is_begun_again_as_seldom_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Discord counts how often a client identifies, and takes the token away in the end."""
    after_many_losses(monkeypatch, 900.0)
    try:
        raise discord.ConnectionClosed(SimpleNamespace(close_code=1000), shard_id=None)  # type: ignore[arg-type]
    except discord.ConnectionClosed:
        assert Pauses().delay() == 900.0
    assert Pauses().delay() == LONGEST_S


def test_the_longest_pause_keeps_a_bot_below_what_discord_allows_a_day() -> None:
    mean_s = 0.75 * client._SPARING_PAUSE_S
    assert 86_400 / mean_s < 700
