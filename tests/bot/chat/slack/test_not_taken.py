"""What comes and cannot be taken: Slack is told so, and the log has one line of a flood."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack

FLOOD = 20


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Return what of Slack stands in the log where nobody asked for more."""
    found = [each for each in caplog.records if each.name.startswith("signoff.slack")]
    return [(r.levelname, r.getMessage()) for r in found if r.levelno >= logging.WARNING]


async def pours(slack: OnSlack, card: Message) -> set[int]:
    """Send a flood of ✅ by signed HTTP; return how they were answered."""
    event = slack.server.reaction("reaction_added", "UANA", card.ts)
    payloads = [
        {"type": "event_callback", "team_id": "T1", "event_id": f"Ev-{number}", "event": event}
        for number in range(FLOOD)
    ]
    poster = slack.over_http()
    answers = await asyncio.gather(*(poster.event(each, slack.wall_s()) for each in payloads))
    return {each.status for each in answers}


async def test_a_flood_that_cannot_be_stored_is_one_line_of_the_log_until_some_is(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        card = await slack.proposes(PROD)
        for lines in (1, 2):
            slack.store_fails(True)
            assert await pours(slack, card) == {500}
            assert [level for level, _ in told(caplog)] == ["WARNING"] * lines
            slack.store_fails(False)
            await slack.server.says("UANA", "<@USIGNOFF> help")
        assert "the disk is full" in told(caplog)[0][1]


async def test_what_comes_while_the_bot_leaves_is_refused_and_no_trouble(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        card = await slack.proposes(PROD)
        assert slack.surface.listening is not None
        await slack.surface.listening.close()
        assert await pours(slack, card) == {500}
    assert told(caplog) == []


async def test_an_acknowledgement_for_which_the_connection_has_gone_is_no_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        goes_on = slack.store_waits()
        storing = asyncio.create_task(slack.server.reacts("UANA", card.ts))
        await eventually(lambda: hearing() > 0, "hearing")
        await slack.closes()
        goes_on.set()
        await eventually(lambda: hearing() == 0, "heard")
        storing.cancel()
    assert told(caplog) == []


def hearing() -> int:
    """Return how many deliveries the SDK is at."""
    return sum("run_message_listeners" in repr(each) for each in asyncio.all_tasks())


async def test_a_mistake_of_ours_is_an_error_with_its_place(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        card = await slack.proposes(PROD)
        assert slack.surface.listening is not None
        monkeypatch.setattr(slack.surface.listening, "_copies", None)
        assert await pours(slack, card) == {500}
    assert {level for level, _ in told(caplog)} == {"ERROR"}
    assert "AttributeError at slack/listening.py" in told(caplog)[0][1]
