"""A connection stands where nothing of the channel comes over it: that is no hearing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.bot.chat.slack.counted import all_done, state
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Channel
from tests.slack_stage import OnSlack, eventually, on_slack

WINDOW_S = 900


def channel(slack: OnSlack) -> Channel:
    return slack.server.workspace.channels["C0OPS"]


async def told(slack: OnSlack, kind: str, **more: Any) -> None:
    await slack.server.event({"type": kind, "channel": "C0OPS", **more})


async def kicked(slack: OnSlack) -> None:
    channel(slack).bot_is_member = False
    await told(slack, "channel_left", actor_id="UBEN")


async def removed(slack: OnSlack) -> None:
    channel(slack).bot_is_member = False
    await told(slack, "member_left_channel", user=slack.server.workspace.bot_user)


async def put_out_of_a_private_one(slack: OnSlack) -> None:
    channel(slack).hidden = True
    await told(slack, "group_left")


async def archived(slack: OnSlack) -> None:
    channel(slack).archived = True
    await told(slack, "message", subtype="channel_archive", user="UBEN", ts="1.2")


async def archived_by_an_event(slack: OnSlack) -> None:
    channel(slack).archived = True
    await told(slack, "channel_archive", user="UBEN")


async def uninstalled(slack: OnSlack) -> None:
    slack.server.workspace.bot_token = "xoxb-new"
    await slack.server.event({"type": "app_uninstalled"})


async def without_a_word(slack: OnSlack) -> None:
    channel(slack).bot_is_member = False
    await slack.surface.desk.presence.look()  # type: ignore[union-attr]


async def closes(slack: OnSlack) -> str:
    await slack.world.workflow.close_due()
    await slack.beats(20)
    return await state(slack)


@pytest.mark.parametrize(
    ("gone", "remedy"),
    [
        (kicked, "/invite it there"),
        (removed, "/invite it there"),
        (without_a_word, "/invite it there"),
        (put_out_of_a_private_one, "/invite the bot there"),
        (archived, "unarchive it"),
        (archived_by_an_event, "unarchive it"),
        (uninstalled, "install the app again"),
    ],
)
async def test_a_window_stays_open_where_the_bot_hears_nothing_of_its_channel_any_more(
    gone: Callable[[OnSlack], Awaitable[None]], remedy: str
) -> None:
    async with on_slack() as slack:
        card, token = await in_window(slack), slack.server.workspace.bot_token
        await gone(slack)
        await eventually(lambda: "BLIND" in slack.health(), "it is noticed")
        assert remedy in slack.health()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        slack.world.clock.advance(WINDOW_S + 60)
        slack.hearing.alive()  # the connection itself lives
        assert await closes(slack) == "executing"
        assert slack.surface.trouble() is not None

        channel(slack).bot_is_member, channel(slack).hidden = True, False
        channel(slack).archived, slack.server.workspace.bot_token = False, token
        await told(slack, "member_joined_channel", user=slack.server.workspace.bot_user)
        await eventually(lambda: "BLIND" not in slack.health(), "it is noticed")
        assert slack.surface.trouble() is None
        await slack.keeps_catching_up()
        await all_done(slack)
        assert await state(slack) == "rolled_back"


async def test_people_elsewhere_who_come_and_go_are_nobody_to_look_for() -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        before = len(slack.server.calls_of("conversations.info"))
        await told(slack, "member_left_channel", user="UBEN")
        await slack.server.event({"type": "channel_left", "channel": "C0ELSE"})
        await slack.settles()
        await slack.beats(5)
        assert len(slack.server.calls_of("conversations.info")) == before


@pytest.mark.parametrize("how", ["bot_is_member", "archived"])
async def test_a_bot_that_starts_outside_of_its_channel_is_heard_of_and_comes_back(
    how: str,
) -> None:
    async with on_slack(opened=False) as slack:
        setattr(channel(slack), how, how == "archived")
        await slack.opens()
        assert "BLIND" in slack.health()
        setattr(channel(slack), how, how != "archived")
        await told(slack, "channel_unarchive")
        await eventually(lambda: "BLIND" not in slack.health(), "it is noticed")
        assert "/invite" not in slack.health()
        await slack.proposes(PROD)


async def test_where_slack_does_not_say_how_the_channel_stands_nothing_is_believed_of_it() -> None:
    async with on_slack() as slack:
        presence = slack.surface.desk.presence  # type: ignore[union-attr]
        lost = {"kind": "status", "status": 503}
        for fault in (lost, {"error": "missing_scope"}, {"error": "access_denied"}):
            slack.server.fails("conversations.info", **fault)
            await presence.look()
            assert "BLIND" not in slack.health()
        channel(slack).bot_is_member = False
        await presence.look()
        slack.server.fails("conversations.info", "status", status=503)
        await presence.look()
        assert "BLIND" in slack.health()
