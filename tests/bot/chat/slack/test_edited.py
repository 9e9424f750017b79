"""What somebody edits on Slack is no command, however Slack tells of it (design section 8)."""

from __future__ import annotations

from tests.bot.chat.slack.counted import all_done, mention, reviews, state
from tests.builders import PROD
from tests.slack_stage import eventually, on_slack

DAY_S = 86_400


async def test_talk_that_an_edit_makes_a_command_changes_nothing_and_leaves_a_row() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        said, _ = await slack.server.says("UANA", "lunch?")
        await slack.server.edits(said, mention(slack, "approve p1"))
        await all_done(slack)
        assert await reviews(slack) == []
        assert await state(slack) == "sentinel_approved"
        assert await slack.codes() == ["duplicate_event"]


async def test_a_command_of_the_day_before_is_not_run_again_by_an_edit() -> None:
    async with on_slack() as slack:
        said, _ = await slack.server.says("UANA", mention(slack, "freeze breach"))
        await eventually(lambda: slack.said("breach"))
        await slack.server.says("UANA", mention(slack, "thaw"))
        await all_done(slack)
        slack.world.clock.advance(DAY_S + 60)
        slack.hearing.alive()
        await slack.server.edits(said, mention(slack, "freeze breach of old"))
        await all_done(slack)
        assert [m for m in slack.said("breach of old") if m.user != "UANA"] == []
        assert await slack.codes() == ["duplicate_event"]


async def test_an_edit_of_which_slack_tells_as_a_mention_alone_leaves_its_row() -> None:
    """An app without message.channels gets app_mention alone."""
    async with on_slack() as slack:
        said, _ = await slack.server.says("UANA", "lunch?")
        edited = {"user": "UANA", "ts": "1772452900.000001"}
        event = {"type": "app_mention", "user": "UANA", "channel": said.channel, "ts": said.ts}
        text = {"text": mention(slack, "freeze"), "edited": edited, "team": "T1"}
        await slack.server.event(event | text)
        await all_done(slack)
        assert await slack.codes() == ["duplicate_event"]
