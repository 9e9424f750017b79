"""A check mark on a Slack card counts for what that showed when it was given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting
from tests.builders import PROD
from tests.roads import adopted
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack


async def goes_elsewhere(slack: OnSlack) -> None:
    """Let a policy come under which the deployment calls another place."""
    workflow = slack.world.workflow
    tools = dict(workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], settings={"url": "https://other.example/b"})
    policy = replace(workflow.policy, tools=tools, digest="pol1_" + "9" * 64)
    await adopted(workflow, policy, Sentinel(load_rules(policy.rules)))


async def shows_all(slack: OnSlack) -> None:
    """Wait until the card shows what stands in the row; a failed edit is tried again."""

    async def shown() -> bool:
        slack.world.clock.advance(5)
        slack.hearing.alive()
        slack.broadcast.nudge()
        card = await slack.world.store.read(lambda tx: tx.cards.get("p1", "slack"))
        return card is not None and card.shown_version == card.wanted_version

    await eventually_async(shown, "the edit")
    slack.world.clock.advance(5)  # nobody answers in the second in which it is edited


def slacks_clock_is_ahead(slack: OnSlack, by_s: int) -> None:
    slack.server.workspace.now_ms = lambda: slack.world.clock.now_ms() + by_s * 1000


def told(slack: OnSlack) -> list[str]:
    return [hint for hint in slack.hints() if "It was judged anew" in hint]


@pytest.mark.parametrize("how", ["emoji", "button"])
async def test_who_approves_what_a_card_showed_before_is_told_to_look_again(how: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        fault = slack.server.fails("chat.update", "status", status=503, times=None)
        await goes_elsewhere(slack)
        if how == "emoji":
            await slack.server.reacts("UBEN", card.ts)
        else:
            await slack.server.presses("UBEN", card, "signoff_approve")
        await eventually(lambda: told(slack), "told")
        fault.times = 0
        await shows_all(slack)
        await slack.broadcast.catch_up()
        await all_done(slack)
        assert await counting(slack) == []

        if how == "emoji":
            await slack.server.unreacts("UBEN", card.ts)
            await slack.server.reacts("UBEN", card.ts)
        else:
            await slack.server.presses("UBEN", card, "signoff_approve")
        await all_done(slack)
        assert await counting(slack) == ["ben"]


@pytest.mark.parametrize(
    ("how", "restarted"), [("emoji", False), ("emoji", True), ("button", False)]
)
async def test_a_check_mark_that_had_to_wait_counts_for_what_its_card_showed_when_it_came(
    how: str, restarted: bool
) -> None:
    """Slack is ill: the ✅ waits until the card can be read, and by then that shows more."""
    async with on_slack(store=MemoryStore()) as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        if how == "emoji":
            reads = slack.server.fails("reactions.get", "status", status=503, times=None)
            await slack.server.reacts("UBEN", card.ts)
            await eventually(lambda: reads.seen, "the card is read in vain")
        else:
            slack.server.hold("reactions.get")
            await slack.server.presses("UBEN", card, "signoff_approve")
            await eventually(lambda: slack.server.waiting("reactions.get"), "reading")
        await goes_elsewhere(slack)
        await shows_all(slack)
        if restarted:
            await slack.closes()
        if how == "emoji":
            reads.times = 0
        else:
            slack.server.release("reactions.get")
        if restarted:
            await slack.restarts()
        await eventually(lambda: told(slack), "told")
        await all_done(slack)
        assert await counting(slack) == []
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("found_before", [False, True])
@pytest.mark.parametrize("ahead_s", [0, 300, 10**8, -300])
async def test_a_check_mark_that_slack_tells_of_late_counts_for_what_its_card_showed_when_given(
    found_before: bool, ahead_s: int
) -> None:
    async with on_slack() as slack:
        slacks_clock_is_ahead(slack, ahead_s)
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UBEN", card.ts, heard=False)
        told_late = slack.server.reaction("reaction_added", "UBEN", card.ts)
        if found_before:
            slack.world.clock.advance(181)
            slack.hearing.alive()
            await slack.broadcast.catch_up()
            assert await counting(slack) == ["ben"]
        slack.world.clock.advance(2)  # an answer that took so long says nothing of Slack's clock
        await goes_elsewhere(slack)
        await shows_all(slack)
        await slack.server.event(told_late)
        await eventually(lambda: told(slack), "told")
        assert await counting(slack) == []

        await slack.server.unreacts("UBEN", card.ts)
        await slack.server.reacts("UBEN", card.ts)
        await all_done(slack)
        assert await counting(slack) == ["ben"]


async def test_a_check_mark_that_slack_tells_of_late_counts_where_its_card_showed_it_already() -> (
    None
):
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await goes_elsewhere(slack)
        await shows_all(slack)
        slack.world.clock.advance(1)
        await slack.server.reacts("UBEN", card.ts, heard=False)
        told_late = slack.server.reaction("reaction_added", "UBEN", card.ts)
        slack.world.clock.advance(1)
        await slack.server.reacts("UANA", card.ts)  # after which it is edited again
        await all_done(slack)
        slack.world.clock.advance(60)
        await slack.server.event(told_late)
        await all_done(slack)
        assert sorted(await counting(slack)) == ["ana", "ben"]


@pytest.mark.parametrize("ahead_s", [-300, 300])
async def test_a_check_mark_counts_though_slacks_clock_is_minutes_away_from_ours(
    ahead_s: int,
) -> None:
    async with on_slack() as slack:
        slacks_clock_is_ahead(slack, ahead_s)
        card = await slack.proposes(PROD, **DUAL)
        await goes_elsewhere(slack)
        await shows_all(slack)
        slack.world.clock.advance(5)
        await slack.server.reacts("UBEN", card.ts)
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert "Slack's clock is" in "".join(slack.surface.health())
