"""What is said of the bot's own emoji under cards is true."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.chat.slack.test_away_for_a_while import read_again
from tests.builders import PROD
from tests.slack_stage import eventually, eventually_async, on_slack, shown


async def test_a_card_that_was_deleted_is_not_counted_as_one_without_the_bots_emoji() -> None:
    async with on_slack() as slack:
        slack.server.fails("reactions.add", times=2)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: "without the bot's emoji" in slack.health(), "told")
        (card,) = slack.cards("p1")
        await slack.settles()
        await slack.server.deletes(card.ts)
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.settles()
        assert "without the bot's emoji" not in slack.health()


async def test_a_card_that_is_deleted_while_it_gets_its_emoji_is_not_counted_as_one_without() -> (
    None
):
    """Nobody would ever put them there, so that `status` told of it for good."""
    async with on_slack() as slack:
        slack.server.hold("reactions.add")
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: slack.server.waiting("reactions.add"), "being put there")
        (card,) = slack.cards("p1")
        await slack.server.deletes(card.ts)
        await slack.settles()
        slack.server.release("reactions.add")
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.settles()
        assert "without the bot's emoji" not in slack.health()


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("status", {"status": 503}),
        ("dropped", {}),
        ("error", {"error": "fatal_error"}),
        ("ratelimited", {"retry_after_s": 61}),
    ],
)
async def test_the_bots_emoji_leave_an_ended_card_although_slack_failed_at_first(
    kind: str, how: dict[str, Any]
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        fault = slack.server.fails("reactions.remove", kind, times=3, **how)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")

        async def bare() -> bool:
            slack.world.clock.advance(5)  # a limit of more than a minute is not called into
            await slack.beats(1)
            return card.reactions == {"x": ["UANA"]}

        await eventually_async(bare, "no emoji of the bot")
        assert fault.times == 0


async def test_what_slack_refuses_for_good_is_not_tried_again() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.fails("reactions.remove", error="missing_scope", times=None)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")
        await eventually(lambda: len(slack.server.calls_of("reactions.remove")) == 2, "tried")
        await slack.beats(5)
        assert len(slack.server.calls_of("reactions.remove")) == 2


async def test_the_bots_emoji_leave_a_card_that_is_shown_as_ended_while_the_bot_ends() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.hold("chat.update")
        await slack.server.reacts("UANA", card.ts, "x")
        await eventually(lambda: slack.server.waiting("chat.update"), "being shown")
        await slack.closes()
        slack.server.release("chat.update")
        slack.world.clock.advance(60)
        await slack.broadcast.close()
        assert "rejected" in shown(card)
        assert card.reactions == {"x": ["UANA"]}


@pytest.mark.parametrize("kind", ["error", "lost_answer"])
async def test_a_card_that_has_the_bots_emoji_again_is_not_counted_as_one_without(
    kind: str,
) -> None:
    """A reading put them there, or found them there, and `status` said that they were missing."""
    async with on_slack() as slack:
        slack.server.fails("reactions.add", kind, times=2)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: "without the bot's emoji" in slack.health(), "told")
        await slack.settles()
        await read_again(slack)
        await slack.card("p1")
        await eventually(lambda: "without the bot's emoji" not in slack.health(), "told no more")


async def test_emoji_that_slack_lets_nobody_put_there_are_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack() as slack:
        refused = slack.server.fails("reactions.add", error="missing_scope", times=None)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        for tries in (2, 4):
            await eventually(lambda tries=tries: refused.seen == tries, "tried")  # type: ignore[misc]
            await slack.settles()
            await read_again(slack)
        assert sum("lacks an emoji" in each.message for each in caplog.records) == 1


async def test_a_card_gets_the_bots_emoji_while_slack_lets_none_be_taken_off_others() -> None:
    """In a flood they all waited in one line: no card that could be decided had any."""
    async with on_slack() as slack:
        ended = await slack.proposes(PROD)
        assert slack.surface.desk is not None
        slack.surface.desk.web.client.timeout = 600  # no call is given up while the test lasts
        slack.server.hold("reactions.remove")
        await slack.server.reacts("UANA", ended.ts, "x")
        await eventually(lambda: slack.server.waiting("reactions.remove"), "being taken off")
        card = await slack.proposes(PROD, parameters={"version": "v2"})
        mine = slack.server.workspace.bot_user
        everything = {"white_check_mark": [mine], "x": [mine]}
        await eventually(lambda: card.reactions == everything, "both of them")
        slack.server.release("reactions.remove")
        await eventually(lambda: ended.reactions == {"x": ["UANA"]}, "none of the bot")


async def test_what_is_taken_off_a_card_waits_until_it_was_put_there() -> None:
    async with on_slack() as slack:
        slack.server.hold("reactions.add")
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: slack.server.waiting("reactions.add"), "being put there")
        (card,) = slack.cards("p1")
        await eventually_async(slack.nothing_stale, "written down")
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")
        await slack.beats(2)
        assert not slack.server.calls_of("reactions.remove")
        slack.server.release("reactions.add")
        await eventually(lambda: len(slack.server.calls_of("reactions.remove")) == 2, "taken off")
        await eventually(lambda: card.reactions == {"x": ["UANA"]}, "none of the bot")
