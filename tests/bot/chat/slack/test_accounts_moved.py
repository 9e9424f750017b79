"""An account that a new config takes from somebody on Slack approves nothing in their name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.bot.chat.slack.counted import DEPLOY, all_done, mention, reviews
from tests.builders import PROD
from tests.fakes.slack_server.workspace import User
from tests.slack_stage import OnSlack, eventually, on_slack


async def says(slack: OnSlack) -> None:
    await slack.server.says("UANA", mention(slack, "approve p1 looks right"))


async def types(slack: OnSlack) -> None:
    await slack.server.slash("UANA", "approve p1 looks right")


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
        slack.server.workspace.users["UNEW"] = User("UNEW")
        people = dict(slack.world.workflow.policy.people)
        accounts = {**people["ana"].accounts, "slack": "T1/UNEW"}
        people["ana"] = replace(people["ana"], accounts=accounts)
        await slack.world.adopts(people=people)
        slack.server.release("reactions.get")
        await all_done(slack)

        assert await reviews(slack) == []
        assert slack.world.tool(DEPLOY).verbs() == []
