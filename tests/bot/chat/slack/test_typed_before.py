"""Words that Slack delivers again, minutes after they were typed: the bot that did not hear them
may have ended, and another database stands where its was. Ids of proposals come again there."""

from __future__ import annotations

import pytest

from lifecycle.clockwork.restored import bring_back
from tests.bot.chat.slack.counted import all_done, mention, state
from tests.builders import PROD
from tests.fakes.slack_server.stage import OPS
from tests.slack_stage import OnSlack, on_slack

BEFORE_S = 120


async def delivered_again(slack: OnSlack, words: str, *, typed_s: float = BEFORE_S) -> None:
    """Deliver what ana typed so long ago, as Slack does that had no acknowledgement."""
    ts = f"{slack.world.clock.now_ms() / 1000 - typed_s:.3f}100"
    event = {"type": "app_mention", "user": "UANA", "text": mention(slack, words)}
    await slack.server.event(event | {"channel": OPS, "ts": ts, "event_ts": ts})
    await all_done(slack)


async def test_an_approval_that_was_typed_before_the_proposal_came_is_of_another_one() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await delivered_again(slack, "approve p1")
        assert await state(slack) == "sentinel_approved"
        assert await slack.codes("p1") == ["stale_card"]
        (told,) = slack.server.workspace.ephemeral
        assert "before" in told["text"]

        await delivered_again(slack, "approve p1", typed_s=0)
        assert await state(slack) == "completed"


async def test_an_approval_counts_although_the_clock_of_the_bot_is_ahead_of_the_one_of_slack() -> (
    None
):
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await delivered_again(slack, "approve p1", typed_s=50)
        assert await state(slack) == "completed"


async def test_an_approval_that_was_typed_before_a_copy_was_brought_back_does_not_count() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        slack.world.clock.advance(BEFORE_S * 2)
        world = slack.world.workflow.world
        await world.store.write(lambda tx: bring_back(tx, world.moment(), "a copy"))
        await slack.world.workflow.thaw(slack.world.sender("ana"))
        await delivered_again(slack, "approve p1")
        assert await state(slack) == "sentinel_approved"

        await delivered_again(slack, "approve p1", typed_s=0)
        assert await state(slack) == "completed"


async def test_a_thaw_that_was_typed_before_the_freeze_does_not_lift_it() -> None:
    """Least of all that of a copy that is brought back."""
    async with on_slack() as slack:
        world = slack.world.workflow.world
        await world.store.write(lambda tx: bring_back(tx, world.moment(), "a copy"))
        await delivered_again(slack, "thaw")
        assert await slack.world.store.read(lambda tx: tx.flags.get("freeze")) is not None

        await delivered_again(slack, "thaw", typed_s=0)
        assert await slack.world.store.read(lambda tx: tx.flags.get("freeze")) is None


@pytest.mark.parametrize("words", ["reject p1 no", "freeze incident 7"])
async def test_a_stop_counts_whenever_it_was_typed(words: str) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await delivered_again(slack, words)
        frozen = await slack.world.store.read(lambda tx: tx.flags.get("freeze"))
        assert frozen is not None or await state(slack) == "rejected"


@pytest.mark.parametrize("words", ["retry p1", "settle p1 happened"])
async def test_nothing_else_that_lets_a_proposal_go_on_counts_for_one_that_came_later(
    words: str,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await delivered_again(slack, words)
        assert await slack.codes("p1") == ["stale_card"]
