"""A ✅ that was taken off takes its approval back within a minute, also if Slack is silent."""

from __future__ import annotations

import asyncio

import pytest

from tests.bot.chat.slack.counted import counting
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually_async, on_slack


async def anas_tick(slack: OnSlack) -> Message:
    """Return a card for two that ana has approved by a ✅ on it."""
    card = await slack.proposes(PROD, proposal_id="p1", approval_class="dual")
    await slack.server.reacts("UANA", card.ts)
    await slack.settles()
    assert await counting(slack) == ["ana"]
    return card


async def is_taken_back(slack: OnSlack) -> bool:
    slack.world.clock.advance(1)
    slack.hearing.alive()
    return await counting(slack) == []


async def test_it_does_not_wait_for_ever_until_slack_says_whose_it_was() -> None:
    """No word of Slack would have changed anything, and its card could not be read either."""
    async with on_slack() as slack:
        card = await anas_tick(slack)
        for method in ("users.info", "reactions.get"):
            slack.server.fails(method, "status", status=503, times=None)
        await slack.server.unreacts("UANA", card.ts)
        await eventually_async(lambda: is_taken_back(slack), "taken back")


async def test_it_does_not_wait_for_one_limit_on_reading_cards_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether a ✅ in another skin tone stands there is looked up: for twelve minutes."""
    for limit in ("LONGEST_WAIT_S", "_SAID_S"):
        monkeypatch.setattr(f"bot.chat.slack.speaking.{limit}", 0.2)
    async with on_slack() as slack:
        card = await anas_tick(slack)
        sleep, passes = slack.world.clock.sleep, asyncio.Event()

        async def limited(seconds: float) -> None:
            await (passes.wait() if seconds == 31 else sleep(seconds))

        monkeypatch.setattr(slack.world.clock, "sleep", limited)
        slack.server.fails("reactions.get", "ratelimited", retry_after_s=31, times=None)
        await slack.server.unreacts("UANA", card.ts)
        await eventually_async(lambda: is_taken_back(slack), "taken back")
        passes.set()
