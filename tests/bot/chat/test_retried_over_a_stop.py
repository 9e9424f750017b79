"""What may have failed is not tried again over a ❌ that was given since and that nobody heard."""

from __future__ import annotations

import pytest

from lifecycle.ports import ToolDoubtful
from tests.bot.chat.discord.standing import SEND, unheard
from tests.bot.chat.test_terminal_heard_first import terminal_of
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import discord_server as discord_server
from tests.bot.chat.test_two_surfaces import two as two
from tests.builders import MAIL
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, until
from tests.fakes.slack_server.workspace import Message as SlackMessage
from tests.fakes.tools import raising


async def in_doubt(two: Two) -> tuple[str, Message, SlackMessage]:
    """Let nobody know whether something was done; it may be tried again."""
    two.tool(SEND).on["execute"] = raising(ToolDoubtful("no answer"))
    proposal_id = await two.proposes(MAIL)
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    await two.quiet()
    on_discord = two.server.cards()[0]
    two.server.reacts(ANA, on_discord, TICK)

    async def unknown() -> bool:
        return (await two.proposal(proposal_id)).attention is not None

    await until(unknown, "in doubt")
    await two.quiet()
    return proposal_id, on_discord, on_slack


async def kept(two: Two, proposal_id: str) -> str | None:
    stop = (await two.proposal(proposal_id)).kept_stop
    return None if stop is None else stop.person


@pytest.mark.parametrize("where", ["discord", "terminal"])
async def test_a_stop_missed_on_slack_is_kept_and_nothing_is_called_again(
    two: Two, where: str
) -> None:
    proposal_id, _, on_slack = await in_doubt(two)
    assert two.slack_server is not None
    await two.slack_server.reacts("UBEN", on_slack.ts, "x", heard=False)
    await two.slack_server.sockets.drop()
    await until(lambda: not two.slack_hears(), "the loss")
    if where == "terminal":
        await terminal_of(two).types(f"ana: retry {proposal_id}")
    else:
        two.server.says(ANA, f"!retry {proposal_id}")
        await two.quiet()

    assert two.tool(SEND).verbs() == ["execute"]
    assert await kept(two, proposal_id) == "ben"


async def test_a_stop_missed_on_discord_itself_is_kept_too(two: Two) -> None:
    proposal_id, on_discord, _ = await in_doubt(two)
    unheard(on_discord, BEN, CROSS)
    two.clock.advance(1)
    two.surface.hearing.began()
    two.server.says(ANA, f"!retry {proposal_id}")
    await two.quiet()

    assert two.tool(SEND).verbs() == ["execute"]
    assert await kept(two, proposal_id) == "ben"


async def test_it_is_tried_again_soon_where_slack_lets_no_card_be_read_for_long(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.slack.reactions._LOOKED_S", 0.05)
    proposal_id, _, _ = await in_doubt(two)
    slack = two.slack_server
    assert slack is not None
    slack.hold("reactions.get")
    await slack.says("UANA", f"<@{slack.workspace.bot_user}> retry {proposal_id}")
    again = ["execute", "execute"]
    await until(lambda: two.tool(SEND).verbs() == again, "tried again", seconds=4)
    assert slack.waiting("reactions.get")
    slack.release("reactions.get")


async def test_it_is_tried_again_where_the_card_cannot_be_read(two: Two) -> None:
    """It may be what takes it back that failed, and nothing stands in the way of that."""
    proposal_id, _, _ = await in_doubt(two)
    slack = two.slack_server
    assert slack is not None
    unread = slack.fails("reactions.get", "error", times=None)
    await slack.says("UANA", f"<@{slack.workspace.bot_user}> retry {proposal_id}")
    await until(lambda: two.tool(SEND).verbs() == ["execute", "execute"], "tried again")
    assert unread.seen
