"""People's talk in the channel is theirs: emoji on it leave no trace, a picture takes no reason."""

from __future__ import annotations

import pytest

from bot.storage.memory import MemoryStore
from tests.bot.chat.slack.counted import all_done, state
from tests.builders import PROD
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack


@pytest.mark.parametrize("channel", ["C0OPS", "C0ELSE"])
@pytest.mark.parametrize("name", ["white_check_mark", "x"])
async def test_an_emoji_on_what_people_say_is_no_attempt_and_leaves_no_row(
    name: str, channel: str
) -> None:
    async with on_slack() as slack:
        message, _ = await slack.server.says("UBEN", "lunch?", channel=channel)
        for user in ("UANA", "UGUEST", "UFAR", "UNOBODY"):
            await slack.server.reacts(user, message.ts, name, channel=channel)
            await slack.server.unreacts(user, message.ts, name, channel=channel)
        if channel == "C0ELSE":
            await slack.server.says("UANA", "at noon", channel=channel, thread_ts=message.ts)
        await slack.settles()
        assert await slack.codes() == []
        assert slack.hints() == []
        assert slack.server.calls_of("users.info") == []


async def test_an_emoji_on_what_an_integration_posted_leaves_no_row() -> None:
    """Slack names no author of what came through a webhook."""
    async with on_slack() as slack:
        message, _ = await slack.server.says("UBEN", "build 7 is green")
        event = slack.server.reaction("reaction_added", "UANA", message.ts, "x", "C0OPS")
        event.pop("item_user")
        await slack.server.event(event)
        await slack.settles()
        assert await slack.codes() == []


async def test_an_emoji_on_a_reminder_of_ours_is_an_attempt_and_told_of_nobody() -> None:
    async with on_slack() as slack:
        await slack.world.workflow.freeze("breach", slack.world.sender("ana"))
        await eventually(lambda: slack.said("breach"))
        await slack.server.reacts("UANA", slack.said("breach")[0].ts)
        await slack.settles()
        assert await slack.codes() == ["unknown_proposal"]
        assert slack.hints() == []


@pytest.mark.parametrize("channel", ["C0OPS", "C0ELSE"])
async def test_what_is_taken_off_where_nothing_counted_is_no_attempt(channel: str) -> None:
    async with on_slack() as slack:
        message, _ = await slack.server.says("USIGNOFF", "a copy", channel=channel)
        for name in ("white_check_mark", "x"):
            for _ in range(5):
                await slack.server.reacts("UANA", message.ts, name, channel=channel)
                await slack.server.unreacts("UANA", message.ts, name, channel=channel)
        await slack.settles()
        code = {"C0OPS": "unknown_proposal", "C0ELSE": "wrong_place"}[channel]
        assert await slack.codes() == [code] * 10
        assert slack.server.calls_of("reactions.get") == []
        looked = slack.server.calls_of("conversations.history")
        assert len([call for call in looked if "latest" in call.arguments]) <= 1


async def test_an_emoji_on_a_card_that_nobody_knows_any_more_is_an_attempt() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        await slack.closes()
        slack.world.workflow.world.store = MemoryStore()
        await slack.restarts()
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.settles()
        assert any("not known here" in hint for hint in slack.hints())
        rows = await slack.world.workflow.world.store.read(lambda tx: tx.audit.exported(0, 50))
        assert "unknown_proposal" in [each["reason"] for each in rows]


async def test_a_card_counts_whoever_slack_names_as_its_author() -> None:
    """The app may have been made anew: cards of the former one stand, and are ours."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        card.user = "UFORMER"
        await slack.server.reacts("UBEN", card.ts, "x")
        await all_done(slack)
        assert await state(slack) == "rejected"


async def reason(slack: OnSlack) -> str:
    (last,) = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
    return last.reason


@pytest.mark.parametrize("words", ["wrong version, see the picture", ""])
async def test_a_reason_may_come_with_a_picture(words: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")
        picture = slack.server.a_file("screen.png", b"\x89PNG")
        await slack.server.says("UBEN", words, thread_ts=card.ts, files=[picture])
        await all_done(slack)
        assert await reason(slack) == words


async def test_a_picture_without_words_leaves_the_reason_to_come() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")
        picture = slack.server.a_file("screen.png", b"\x89PNG")
        await slack.server.says("UBEN", "", thread_ts=card.ts, files=[picture])
        await slack.server.says("UBEN", "wrong version", thread_ts=card.ts)

        async def given() -> bool:
            return await reason(slack) == "wrong version"

        await eventually_async(given, "the reason")
