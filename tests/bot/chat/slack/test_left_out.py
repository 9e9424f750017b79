"""Where Slack leaves events out, as it does in a flood, the cards are read."""

from __future__ import annotations

import json

import pytest

from tests.bot.chat.slack.counted import state
from tests.builders import PROD
from tests.fakes.slack_server.signed import Answered
from tests.fakes.slack_server.sockets import Envelope
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

LEFT_OUT = {"type": "app_rate_limited", "team_id": "T1", "api_app_id": "A1", "token": "x"}


async def is_told(slack: OnSlack) -> Envelope | Answered:
    """Tell the bot that events of this minute are left out: a form of its own, without an event."""
    told = LEFT_OUT | {"minute_rate_limited": int(slack.server.now_s()) // 60 * 60}
    if slack.server.poster is not None:
        when_s = slack.server.now_s()
        return await slack.server.poster.post(json.dumps(told), "application/json", when_s)
    return await slack.server.sockets.send("events_api", told)


@pytest.mark.parametrize("signed", [False, True], ids=["socket", "signed"])
async def test_a_cross_that_slack_left_out_is_read_from_its_card(
    signed: bool, unused_tcp_port: int
) -> None:
    async with on_slack(port=unused_tcp_port if signed else None) as slack:
        if signed:
            slack.over_http()
        card = await slack.proposes(PROD)
        await slack.settles()
        await slack.broadcast.catch_up()
        assert not slack.hearing.gap
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        answer = await is_told(slack)
        if isinstance(answer, Answered):
            assert answer.status == 200
        else:
            await eventually(answer.acked.is_set)

        async def rejected() -> bool:
            await slack.broadcast.catch_up()
            return await state(slack) == "rejected"

        await eventually_async(rejected, "the cross is found")


async def test_what_is_left_out_after_that_is_read_as_well() -> None:
    async with on_slack() as slack:
        card, desk = await slack.proposes(PROD), slack.surface.desk
        await slack.settles()
        await slack.broadcast.catch_up()
        await is_told(slack)
        await eventually(lambda: slack.hearing.gap)
        assert "BLIND" in slack.health()
        await slack.broadcast.catch_up()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        await slack.broadcast.catch_up()
        assert await state(slack) == "sentinel_approved"
        assert desk is not None
        await desk.presence.look()  # as it does every half a minute
        await slack.broadcast.catch_up()
        assert await state(slack) == "rejected"
        assert "BLIND" not in slack.health()
