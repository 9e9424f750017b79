"""What nobody heard on Slack still counts, and what was withdrawn or made void does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting, mention, reviews, state
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.roads import adopted
from tests.slack_stage import OnSlack, eventually, on_slack


async def test_a_standing_cross_that_nobody_heard_beats_the_check_mark_that_comes() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "x", heard=False)
        await slack.server.reacts("UBEN", card.ts)
        await all_done(slack)
        await slack.stands("p1", "rejected")
        (stopped,) = await reviews(slack)
        assert (stopped.person, stopped.decision.value) == ("ana", "reject")
        assert slack.world.tool(DEPLOY).calls == []


async def test_a_standing_cross_of_somebody_who_may_not_stop_holds_up_nobody() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UCAL", card.ts, "x", heard=False)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ben"]
        assert await slack.codes("p1") == []
        await slack.server.reacts("UCAL", card.ts, "x")  # it is heard after all: one attempt
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"]


async def approves(slack: OnSlack, card: Message, how: str) -> None:
    """Let ben approve."""
    match how:
        case "button":
            await slack.server.presses("UBEN", card, "signoff_approve")
        case "mention":
            await slack.server.says("UBEN", mention(slack, "approve p1"))
        case "slash":
            await slack.server.slash("UBEN", "approve p1")
        case _:
            await slack.server.reacts("UBEN", card.ts)


@pytest.mark.parametrize("how", ["emoji", "button", "mention", "slash"])
async def test_what_was_approved_by_a_check_mark_that_went_unheard_opens_nothing_with_another(
    how: str,
) -> None:
    """The card was read without ana's ✅, and her approval opened it with ben's all the same."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ana"]
        slack.world.clock.advance(1)
        await slack.server.unreacts("UANA", card.ts, heard=False)
        await approves(slack, card, how)
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("how", ["button", "mention", "slash"])
async def test_a_standing_cross_that_nobody_heard_beats_every_kind_of_approval(how: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "x", heard=False)
        await approves(slack, card, how)
        await all_done(slack)
        assert await state(slack) == "rejected"
        assert slack.world.tool(DEPLOY).calls == []


async def standing(slack: OnSlack, count: int) -> Message:
    """Return the newest of so many cards once it has its seeds: where edits are forbidden, each
    change is a card of its own."""
    await eventually(lambda: len(slack.cards("p1")) == count, f"{count} cards")
    return await slack.card("p1")


async def test_a_check_mark_taken_off_a_card_that_was_replaced_withdraws_the_approval() -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD, **DUAL)
        slack.server.fails("chat.update", "error", error="edit_window_closed", times=None)
        await slack.server.reacts("UANA", first.ts)
        await standing(slack, 2)
        await slack.server.unreacts("UANA", first.ts)
        await slack.settles()
        assert await counting(slack) == []

        await slack.server.reacts("UBEN", (await standing(slack, 3)).ts)
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert slack.world.tool(DEPLOY).calls == []
        await slack.server.reacts("UANA", (await standing(slack, 4)).ts)
        await eventually(lambda: slack.world.tool(DEPLOY).calls, "both approve by now")


async def void_by_policy(slack: OnSlack) -> Message:
    """Let ana approve, and a policy with other reviewers come before it could begin."""
    card = await slack.proposes(PROD)
    workflow, ana = slack.world.workflow, slack.world.sender("ana")
    await workflow.freeze("wait", ana)
    await slack.server.reacts("UANA", card.ts)
    await slack.settles()
    tools = dict(workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], reviewers="operators")
    policy = replace(workflow.policy, tools=tools, digest="pol1_" + "1" * 64)
    await adopted(workflow, policy, Sentinel(load_rules(policy.rules)))
    await workflow.thaw(ana)
    assert await counting(slack) == []
    return card


async def test_whose_check_mark_stands_for_a_void_approval_is_told_so_once() -> None:
    async with on_slack() as slack:
        await void_by_policy(slack)
        for _ in range(3):
            slack.world.clock.advance(181)
            slack.hearing.alive()
            await slack.broadcast.catch_up()
            await all_done(slack)
        (told,) = [hint for hint in slack.hints() if "does not count any more" in hint]
        assert "the policy changed" in told
        assert await slack.codes("p1") == ["stale_card"]
        assert await state(slack) == "sentinel_approved"
