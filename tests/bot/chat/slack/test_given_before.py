"""An emoji that was given before its account got its present owner counts for nobody who has it by
now, however late Slack tells of it, or the bot finds it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting, state
from tests.bot.chat.slack.test_accounts_moved import TICK, anas_account_is_bens
from tests.bot.chat.slack.test_away_for_a_while import read_again
from tests.builders import PROD
from tests.fakes.slack_server.stage import OPS
from tests.roads import adopted
from tests.slack_stage import OnSlack, eventually, on_slack


async def anas_account_is_nobodys(slack: OnSlack) -> None:
    """Let a new config name no account of ana's; its digest is the same."""
    workflow = slack.world.workflow
    people = dict(workflow.policy.people)
    people["ana"] = replace(people["ana"], accounts={})
    await adopted(workflow, replace(workflow.policy, people=people), workflow.world.law.sentinel)


async def anas_account_is_hers_again(slack: OnSlack) -> None:
    workflow = slack.world.workflow
    people = dict(workflow.policy.people)
    people["ana"] = replace(people["ana"], accounts=people["ben"].accounts)
    people["ben"] = replace(people["ben"], accounts={})
    await adopted(workflow, replace(workflow.policy, people=people), workflow.world.law.sentinel)


async def bens_stands_by_anas_account(slack: OnSlack, ts: str) -> None:
    """Let ben have ana's account for a while, and give a ✅ by it that nobody hears."""
    await anas_account_is_bens(slack)
    slack.world.clock.advance(1)
    await slack.server.reacts("UANA", ts, heard=False)
    slack.world.clock.advance(1)
    await anas_account_is_hers_again(slack)
    slack.world.clock.advance(1)


async def comes_with_the_next_process(slack: OnSlack) -> None:
    """Let ana's account be ben's in the config of the next process."""
    workflow = slack.world.workflow
    people = dict(workflow.policy.people)
    people["ben"] = replace(people["ben"], accounts=people["ana"].accounts)
    people["ana"] = replace(people["ana"], accounts={})
    world = workflow.world
    world.law = replace(world.law, policy=replace(workflow.policy, people=people))
    await workflow.start()
    await slack.restarts()


any_way = pytest.mark.parametrize("moves", [anas_account_is_bens, comes_with_the_next_process])


@any_way
async def test_one_that_slack_delivers_once_its_account_is_anothers_counts_for_nobody(
    moves: object,
) -> None:
    """The disk was full when it came first, and Slack delivered it again."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        await slack.world.workflow.start()
        slack.world.clock.advance(60)
        given = slack.server.reaction("reaction_added", "UANA", card.ts, TICK, OPS)
        await slack.server.reacts("UANA", card.ts, heard=False)
        slack.world.clock.advance(1)
        await moves(slack)  # type: ignore[operator]
        await slack.server.event(given)
        await all_done(slack)
        await read_again(slack)
        await all_done(slack)

        assert await counting(slack) == []
        assert any("somebody else's when that was given" in said for said in slack.hints())

        slack.world.clock.advance(1)
        await slack.server.unreacts("UANA", card.ts)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_one_whose_coming_off_is_told_once_its_account_is_anothers_counts_no_more() -> None:
    """It was taken for the next owner's, and the approval of who took it off stood."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        assert await counting(slack) == ["ana"]
        slack.world.clock.advance(1)
        taken_off = slack.server.reaction("reaction_removed", "UANA", card.ts, TICK, OPS)
        await slack.server.unreacts("UANA", card.ts, heard=False)
        slack.world.clock.advance(1)
        await anas_account_is_bens(slack)
        await slack.server.event(taken_off)
        await all_done(slack)
        assert await counting(slack) == []


async def test_one_that_another_gave_counts_for_nobody_where_its_owners_own_went_before() -> None:
    """Slack told of that once the account was its first owner's again."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        slack.world.clock.advance(1)
        taken_off = slack.server.reaction("reaction_removed", "UANA", card.ts, TICK, OPS)
        await slack.server.unreacts("UANA", card.ts, heard=False)
        slack.world.clock.advance(1)
        await bens_stands_by_anas_account(slack, card.ts)
        await slack.server.event(taken_off)
        await all_done(slack)
        await read_again(slack)
        await all_done(slack)
        assert await counting(slack) == []


async def test_what_waits_while_others_have_its_account_says_nothing_of_what_they_gave() -> None:
    """It was heard in time, and worked once the account was its first owner's again."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        slack.world.clock.advance(1)
        slack.server.hold("users.info")
        await slack.server.unreacts("UANA", card.ts)
        await eventually(lambda: slack.server.waiting("users.info"), "Slack is asked who it is")
        slack.world.clock.advance(1)
        await bens_stands_by_anas_account(slack, card.ts)
        slack.server.release("users.info")
        await all_done(slack)
        await read_again(slack)
        await all_done(slack)
        assert await counting(slack) == []


async def test_one_that_is_found_once_its_account_is_anothers_counts_for_nobody() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        await slack.server.reacts("UANA", card.ts, heard=False)
        await anas_account_is_bens(slack)
        await read_again(slack)
        await all_done(slack)
        assert await counting(slack) == []
        assert await slack.codes("p1") == ["stale_card"]

        await slack.server.unreacts("UANA", card.ts, heard=False)
        await read_again(slack)
        await slack.server.reacts("UANA", card.ts, heard=False)
        await read_again(slack)
        await all_done(slack)
        assert await counting(slack) == ["ben"]


async def test_a_stop_that_is_found_once_its_account_is_nobodys_is_its_givers() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        await slack.server.reacts("UANA", card.ts, "x", heard=False)
        await anas_account_is_nobodys(slack)
        await read_again(slack)
        await all_done(slack)
        assert await state(slack) == "rejected"
