"""What Discord sends once a line stands again was given nobody knows when: what came over Slack
meanwhile may be newer, and is not undone by it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.chat.discord.views import APPROVE
from tests.bot.chat.discord.standing import DEPLOY, DUAL, counting
from tests.bot.chat.two import Two, on_two
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, TICK, until


@pytest.fixture
async def two(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Two]:
    async with on_two(discord_server, tmp_path) as stage:
        await until(lambda: stage.server.rest.commands, "commands are offered")
        yield stage


async def is_cut(two: Two) -> None:
    """Let the line to Discord break; it cannot be had again for now."""
    two.clock.advance(1)
    two.surface.hearing.alive()
    two.server.gateway.accepts = False
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "cut")
    two.clock.advance(1)


async def stands_again(two: Two) -> None:
    """Let the line stand again, and all that was missed be told and worked."""
    two.clock.advance(1)
    two.server.gateway.accepts = True
    await until(lambda: two.surface.hearing.connected, "resumed")
    await two.quiet()
    assert two.server.gateway.resumed == 1


async def freeze_of(two: Two) -> object:
    return await two.store.read(lambda tx: tx.flags.get("freeze"))


def says(two: Two, words: str) -> None:
    two.server.says(ANA, f"!{words}")


def runs(two: Two, words: str) -> None:
    two.server.runs(ANA, words)


@pytest.mark.parametrize("gives", [says, runs])
async def test_a_thaw_of_while_the_line_was_cut_lifts_no_freeze_that_came_elsewhere_meanwhile(
    two: Two, gives: Callable[[Two, str], None]
) -> None:
    await is_cut(two)
    gives(two, "thaw")
    two.clock.advance(1)
    assert two.slack_server is not None
    await two.slack_server.says("UANA", "<@USIGNOFF> freeze incident 8")
    await until(lambda: freeze_of(two), "frozen")
    await stands_again(two)
    assert await freeze_of(two)
    assert await two.audit("ignored", "stale_card")

    gives(two, "thaw")
    await two.quiet()
    assert not await freeze_of(two)


async def test_a_freeze_of_while_the_line_was_cut_is_put_in_force(two: Two) -> None:
    await is_cut(two)
    says(two, "freeze incident 8")
    await stands_again(two)
    assert await freeze_of(two)


def reacts(two: Two, card: Message) -> None:
    two.server.reacts(ANA, card, TICK)


def presses(two: Two, card: Message) -> None:
    two.server.clicks(ANA, card, APPROVE)


@pytest.mark.parametrize("gives", [reacts, presses])
async def test_an_approval_of_while_the_line_was_cut_does_not_count_if_it_was_taken_back_elsewhere(
    two: Two, gives: Callable[[Two, Message], None]
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both(**DUAL)
    await is_cut(two)
    gives(two, on_discord)
    two.clock.advance(1)
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(lambda: two.reviews(proposal_id), "counted")
    two.clock.advance(1)
    await two.slack_server.unreacts("UANA", on_slack.ts)
    await until(lambda: two.audit("approval_taken_back"), "taken back")
    await stands_again(two)
    assert await counting(two, proposal_id) == []
    assert await two.audit("ignored", "stale_card")


async def test_an_approval_of_while_the_line_was_cut_counts_where_nothing_came_elsewhere(
    two: Two,
) -> None:
    proposal_id, on_discord, _ = await two.on_both(**DUAL)
    await is_cut(two)
    two.server.reacts(ANA, on_discord, TICK)
    says(two, f"approve {proposal_id}")
    two.server.says(BEN, f"!approve {proposal_id}")
    await stands_again(two)
    await until(lambda: two.tool(DEPLOY).verbs(), "approved")


async def test_a_check_mark_that_was_taken_off_and_given_again_while_the_line_was_cut_counts(
    two: Two,
) -> None:
    proposal_id, on_discord, _ = await two.on_both(**DUAL)
    two.server.reacts(ANA, on_discord, TICK)
    await two.quiet()
    await is_cut(two)
    two.server.unreacts(ANA, on_discord, TICK)
    two.server.reacts(ANA, on_discord, TICK)
    await stands_again(two)
    assert await counting(two, proposal_id) == ["ana"]
    assert len(await two.reviews(proposal_id)) == 2
