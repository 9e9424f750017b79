"""Slack's limit on connections is waited for as Slack says: asking sooner makes it longer."""

from __future__ import annotations

import pytest

from tests.slack_stage import eventually, on_slack

OPEN = "apps.connections.open"


async def test_a_limit_on_new_connections_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_slack(opened=False) as slack:
        slept: list[float] = []
        sleep = slack.world.clock.sleep

        async def noted(seconds: float) -> None:
            slept.append(seconds)
            await sleep(seconds)

        monkeypatch.setattr(slack.world.clock, "sleep", noted)
        slack.server.fails(OPEN, "ratelimited", retry_after_s=47)
        await slack.opens()
        assert len(slack.server.calls_of(OPEN)) == 2
        assert 47 in slept


async def test_an_address_that_was_used_is_not_used_again() -> None:
    """The ticket in it opens one socket."""
    async with on_slack() as slack:
        for _ in range(3):
            opened = slack.server.sockets.opened
            await slack.server.sockets.disconnect("too_many_websockets")
            await eventually(lambda before=opened: slack.server.sockets.opened > before)
        assert slack.hearing.connected
