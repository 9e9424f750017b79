"""An account that a new config takes from somebody on Slack approves nothing in their name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting, mention, reviews
from tests.bot.chat.slack.test_away_for_a_while import read_again
from tests.builders import PROD
from tests.fakes.slack_server.stage import OPS
from tests.fakes.slack_server.workspace import User
from tests.roads import adopted
from tests.slack_stage import OnSlack, eventually, on_slack
from tests.stories.test_questions import asks

TICK = "white_check_mark"


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


async def anas_account_is_bens(slack: OnSlack) -> None:
    """Let a new config give ana's account to ben; its digest is the same."""
    workflow = slack.world.workflow
    people = dict(workflow.policy.people)
    people["ben"] = replace(people["ben"], accounts=people["ana"].accounts)
    people["ana"] = replace(people["ana"], accounts={})
    await adopted(workflow, replace(workflow.policy, people=people), workflow.world.law.sentinel)


async def test_one_check_mark_counts_for_one_person_whoever_has_its_account_later() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        await anas_account_is_bens(slack)
        await read_again(slack)
        await all_done(slack)

        assert await counting(slack) == ["ana"]
        assert slack.world.tool(DEPLOY).verbs() == []
        assert await slack.codes("p1") == ["stale_card"]


async def test_one_check_mark_that_slack_tells_of_late_counts_for_one_person() -> None:
    """It was found and counted for ana; told of once her account was ben's, it counted again."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        late = slack.server.reaction("reaction_added", "UANA", card.ts, TICK, OPS)
        await slack.server.reacts("UANA", card.ts, heard=False)
        await read_again(slack)
        await anas_account_is_bens(slack)
        await slack.server.event(late)
        await all_done(slack)

        assert await counting(slack) == ["ana"]
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_an_approval_stands_where_its_giver_has_another_account_by_now() -> None:
    """No ✅ of the new account stands on the card, and that of the old one seemed to be gone."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        workflow = slack.world.workflow
        people = dict(workflow.policy.people)
        people["ana"] = replace(people["ana"], accounts={"slack": "T1/UNEW"})
        policy = replace(workflow.policy, people=people)  # all else is as it was
        await adopted(workflow, policy, workflow.world.law.sentinel)
        await read_again(slack)
        assert await counting(slack) == ["ana"]


@pytest.mark.parametrize("accounts", [{"slack": "T1/UNEW"}, {}])
async def test_one_that_is_gone_once_its_account_is_not_its_givers_any_more_was_taken_back(
    accounts: dict[str, str],
) -> None:
    """Ana took it off while nobody heard, and a new config came with the restart."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        assert await counting(slack) == ["ana"]
        await slack.server.unreacts("UANA", card.ts, heard=False)
        workflow = slack.world.workflow
        people = dict(workflow.policy.people)
        people["ana"] = replace(people["ana"], accounts=accounts)
        await adopted(
            workflow, replace(workflow.policy, people=people), workflow.world.law.sentinel
        )
        await read_again(slack)
        assert await counting(slack) == []
