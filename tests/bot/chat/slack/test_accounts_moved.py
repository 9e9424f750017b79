"""An account that a new config takes from somebody on Slack approves nothing in their name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.bot.chat.slack.counted import DEPLOY, all_done, mention, reviews
from tests.builders import PROD
from tests.fakes.slack_server.workspace import User
from tests.slack_stage import OnSlack, eventually, on_slack
from tests.stories.test_questions import asks


async def says(slack: OnSlack) -> None:
    await slack.server.says("UANA", mention(slack, "approve p1 looks right"))


async def types(slack: OnSlack) -> None:
    await slack.server.slash("UANA", "approve p1 looks right")


async def is_another_one(slack: OnSlack, person: str) -> None:
    """Let a new config name another account of somebody's, who is a member there as well."""
    slack.server.workspace.users["UNEW"] = User("UNEW")
    people = dict(slack.world.workflow.policy.people)
    accounts = {**people[person].accounts, "slack": "T1/UNEW"}
    people[person] = replace(people[person], accounts=accounts)
    await slack.world.adopts(people=people)


@pytest.mark.parametrize("gives", [says, types])
async def test_an_account_that_is_taken_away_while_its_card_is_read_approves_nothing(
    gives: Callable[[OnSlack], Awaitable[None]],
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.settles()
        slack.server.hold("reactions.get")
        await gives(slack)
        await eventually(lambda: slack.server.waiting("reactions.get"), "the card is read")
        await is_another_one(slack, "ana")
        slack.server.release("reactions.get")
        await all_done(slack)

        assert await reviews(slack) == []
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_an_account_taken_away_while_slack_is_asked_who_it_is_answers_no_question() -> None:
    async with on_slack() as slack:
        asked = (await asks(slack.world, "May I refund order 17?")).result["question_id"]
        asks_it = await eventually(
            lambda: next((m for m in slack.server.workspace.messages if asked in m.text), None)
        )
        slack.server.hold("users.info")
        await slack.server.says("UBEN", "Yes, twice.", thread_ts=asks_it.ts)
        await eventually(lambda: slack.server.waiting("users.info"), "Slack is asked who it is")
        await is_another_one(slack, "ben")
        slack.server.release("users.info")
        await all_done(slack)

        assert await slack.world.audit("question_answered") == []


async def test_an_account_taken_away_while_slack_is_asked_who_it_is_explains_no_stop() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.settles()
        await slack.server.reacts("UBEN", (await slack.card("p1")).ts, "x")
        await slack.settles()
        slack.server.hold("users.info")
        await slack.server.says("UBEN", "they are all fired", thread_ts=(await slack.card("p1")).ts)
        await eventually(lambda: slack.server.waiting("users.info"), "Slack is asked who it is")
        await is_another_one(slack, "ben")
        slack.server.release("users.info")
        await all_done(slack)

        assert "fired" not in (await slack.world.proposal("p1")).explanation
