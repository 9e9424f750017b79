"""The config may name another channel at the next start. What was given on a card while the bot was
away was given on the current card in the channel that was configured then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.hearing.kept_events import KeptEvents
from lifecycle.ports import Transaction
from tests.bot.chat.slack import test_stops_unanswered as unanswered
from tests.bot.chat.slack.counted import mention, state
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.fakes.slack_server.workspace import User
from tests.slack_stage import OnSlack, eventually, on_slack

ELSEWHERE = "C0ELSE"


async def restarts_elsewhere(slack: OnSlack) -> None:
    await restarts_in(slack, ELSEWHERE)


async def restarts_in(slack: OnSlack, channel: str) -> None:
    assert slack.settings is not None
    entry = slack.settings.entry.model_copy(update={"channel": channel})
    slack.settings = replace(slack.settings, entry=entry)
    await slack.restarts()


async def is_posted_elsewhere(slack: OnSlack) -> None:
    await slack.keeps_catching_up()
    slack.broadcast.nudge()
    found = slack.server.workspace.top_level
    await eventually(lambda: any("PROPOSAL" in m.text for m in found(ELSEWHERE)), "a card")
    await slack.settles()


async def test_a_stop_given_on_it_while_the_bot_was_away_is_carried_out() -> None:
    """The mail left over the ❌, for its card was taken for a deleted one."""
    async with on_slack() as slack:
        card = await in_window(slack)
        await slack.closes()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        await restarts_elsewhere(slack)
        await slack.keeps_catching_up()
        assert await state(slack) == "rolled_back"


async def test_no_window_closes_over_it_while_it_cannot_be_read_there() -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        await slack.closes()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        reading = slack.server.fails("reactions.get", "status", status=503, times=None)
        await restarts_elsewhere(slack)
        await slack.broadcast.catch_up()
        assert reading.seen
        slack.world.clock.advance(16 * 60)
        slack.hearing.alive()
        await slack.world.workflow.close_due()
        assert await state(slack) == "executing"
        reading.times = 0
        await slack.keeps_catching_up()
        assert await state(slack) == "rolled_back"


@pytest.mark.parametrize("error", ["missing_scope", "token_revoked"])
async def test_a_stop_on_it_is_heard_once_the_app_is_mended_that_may_read_nothing(
    error: str,
) -> None:
    """Such a refusal says nothing of that channel. The mail left over the ❌."""
    async with on_slack() as slack:
        card = await in_window(slack)
        await slack.closes()
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        reading = slack.server.fails("reactions.get", "error", error=error, times=None)
        await restarts_elsewhere(slack)
        await eventually(lambda: slack.hearing.connected, "connecting")
        await slack.broadcast.catch_up()
        assert reading.seen
        reading.times = 0
        slack.world.clock.advance(61)
        await slack.keeps_catching_up()
        assert await state(slack) == "rolled_back"


async def test_an_approval_counts_in_the_new_channel_alone() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        await slack.closes()
        await slack.server.reacts("UANA", card.ts, heard=False)
        await restarts_elsewhere(slack)
        await is_posted_elsewhere(slack)
        assert await slack.world.store.read(lambda tx: tx.reviews.of("p1")) == []


async def test_a_card_in_a_channel_that_is_not_seen_any_more_keeps_no_window_open() -> None:
    async with on_slack() as slack:
        await in_window(slack)
        await slack.closes()
        gone = {"error": "channel_not_found", "holding": "C0OPS", "times": None}
        slack.server.fails("reactions.get", "error", **gone)
        await restarts_elsewhere(slack)
        await is_posted_elsewhere(slack)
        slack.world.clock.advance(16 * 60)
        slack.hearing.alive()
        await slack.world.workflow.close_due()
        await slack.world.workflow.idle()
        assert await state(slack) == "completed"


@pytest.mark.parametrize("way", ["slash", "said", "form"])
async def test_a_stop_that_was_taken_and_not_processed_counts_in_the_channel_that_was_configured(
    way: str,
) -> None:
    """It was acknowledged, held, and then one in the wrong place: the mail left."""
    async with on_slack() as slack:
        card = await unanswered.in_window(slack)
        await slack.settles()
        silent = slack.server.fails("users.info", "status", status=503, times=None)
        await unanswered.stops(slack, card, way)
        await restarts_elsewhere(slack)
        silent.times = 0
        await slack.settles()
        assert await state(slack) == "rolled_back"
        assert await slack.codes() == []


@pytest.mark.parametrize("channel", ["C0OPS", ELSEWHERE])
@pytest.mark.parametrize("way", ["slash", "said", "form", "emoji"])
async def test_a_stop_that_was_taken_and_not_processed_counts_if_the_config_names_another_app(
    way: str, channel: str
) -> None:
    """What was said to the former one was said to nobody, and its cards were somebody else's: the
    mail left."""
    async with on_slack() as slack:
        card = await unanswered.in_window(slack)
        await slack.settles()
        silent = slack.server.fails("users.info", "status", status=503, times=None)
        await unanswered.stops(slack, card, way)
        workspace = slack.server.workspace
        workspace.users["UOTHER"] = User("UOTHER", is_bot=True, bot_id="BANOTHER")
        workspace.bot_user = "UOTHER"
        slack.server.fails("reactions.get", "error", error="channel_not_found", times=None)
        await restarts_in(slack, channel)
        silent.times = 0
        await slack.settles()
        assert await state(slack) == "rolled_back"


async def test_an_approval_by_emoji_in_the_channel_that_was_configured_is_given_again() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, proposal_id="p1")
        await slack.settles()
        silent = slack.server.fails("users.info", "status", status=503, times=None)
        before = len(slack.server.calls_of("users.info"))
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: len(slack.server.calls_of("users.info")) > before, "asked")
        await restarts_elsewhere(slack)
        silent.times = 0
        await slack.settles()
        assert await state(slack) == "sentinel_approved"


async def test_an_approval_that_was_typed_in_the_channel_that_was_configured_is_typed_again() -> (
    None
):
    async with on_slack() as slack:
        await slack.proposes(PROD, proposal_id="p1")
        await slack.settles()
        silent = slack.server.fails("users.info", "status", status=503, times=None)
        before = len(slack.server.calls_of("users.info"))
        await slack.server.says("UANA", mention(slack, "approve p1"))
        await eventually(lambda: len(slack.server.calls_of("users.info")) > before, "asked")
        await restarts_elsewhere(slack)
        silent.times = 0
        await slack.settles()
        assert (await state(slack), await slack.codes()) == ("sentinel_approved", ["wrong_place"])


@pytest.mark.parametrize("without", [{"spoken_to"}, {"spoken_to", "listened"}])
async def test_a_stop_that_an_older_version_took_is_carried_out(without: set[str]) -> None:
    """It did not keep to which app, in which configured channel, it was said."""
    async with on_slack() as slack:
        card = await unanswered.in_window(slack)
        await slack.settles()
        silent = slack.server.fails("users.info", "status", status=503, times=None)
        await unanswered.stops(slack, card, "said")
        kept = KeptEvents("slack", slack.world.workflow.world.ring)

        def older(tx: Transaction) -> None:
            [(event_id, each)] = kept.all(tx).items()
            assert without <= each.payload.keys()
            left = {key: value for key, value in each.payload.items() if key not in without}
            kept.put(tx, event_id, each.lane, left)

        await slack.closes()
        await slack.world.store.write(older)
        await restarts_in(slack, "C0OPS")
        silent.times = 0
        await slack.settles()
        assert await state(slack) == "rolled_back"
