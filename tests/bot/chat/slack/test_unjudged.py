"""A ✅ on Slack that was heard, or found, and could not be judged then is of whoever had its
account at that time, and of nobody who has it once it can be judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting, state
from tests.bot.chat.slack.test_accounts_moved import TICK, anas_account_is_bens
from tests.bot.chat.slack.test_away_for_a_while import read_again
from tests.builders import PROD
from tests.fakes.slack_server.stage import OPS
from tests.fakes.slack_server.workspace import Message
from tests.roads import adopted, trail_of
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack
from tests.slack_stage.unwritable import Unwritable


async def proposed(slack: OnSlack) -> Message:
    card = await slack.proposes(PROD, **DUAL)
    await slack.settles()
    return card


async def heard_and_not_judged(slack: OnSlack) -> Message:
    """Let ana give her ✅ while Slack says who she is, and not whether she is a member."""
    card = await proposed(slack)
    slack.server.fails("users.info", every=2)
    await slack.server.reacts("UANA", card.ts)
    await slack.settles()
    assert await slack.codes("p1") == ["not_a_reviewer"]
    assert await counting(slack) == []
    return card


async def found_and_not_judged(slack: OnSlack) -> Message:
    """Let ana's ✅ be found, which nobody heard, while nobody says whether she is a member."""
    card = await proposed(slack)
    slack.server.fails("users.info", every=2)
    await slack.server.reacts("UANA", card.ts, heard=False)
    await read_again(slack)
    assert await counting(slack) == []
    return card


async def given_while_nothing_can_be_stored(slack: OnSlack, card: Message) -> None:
    """Let ana give a ✅ that is taken, and no more written down."""
    slack.server.hold("users.info")
    await slack.server.reacts("UANA", card.ts)
    await eventually(lambda: slack.server.waiting("users.info"), "it is worked")
    slack.store_fails(True)
    slack.server.release("users.info")
    await eventually(lambda: any("cannot be written" in said for said in slack.hints()), "told")


async def test_it_counts_for_whoever_had_the_account_then() -> None:
    async with on_slack() as slack:
        await heard_and_not_judged(slack)
        await read_again(slack)
        assert await counting(slack) == ["ana"]


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("was", [heard_and_not_judged, found_and_not_judged])
async def test_it_counts_for_nobody_who_has_the_account_later_until_they_give_it_anew(
    was: Callable[[OnSlack], Awaitable[Message]], heard: bool
) -> None:
    async with on_slack() as slack:
        card = await was(slack)
        await anas_account_is_bens(slack)
        await read_again(slack)
        await read_again(slack)
        assert await counting(slack) == []
        assert (await slack.codes("p1"))[-1] == "stale_card"

        for puts in (slack.server.unreacts, slack.server.reacts):
            await puts("UANA", card.ts, heard=heard)
            await (slack.settles() if heard else read_again(slack))
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_one_that_slack_tells_of_late_counts_for_nobody_who_has_the_account_by_then() -> None:
    """It was found while it was ana's, and counted as ben's once Slack told of it."""
    async with on_slack() as slack:
        card = await proposed(slack)
        late = slack.server.reaction("reaction_added", "UANA", card.ts, TICK, OPS)
        slack.server.fails("users.info", every=2)
        await slack.server.reacts("UANA", card.ts, heard=False)
        await read_again(slack)
        await anas_account_is_bens(slack)
        await slack.server.event(late)
        await all_done(slack)
        assert await counting(slack) == []


async def test_it_counts_for_its_giver_where_the_account_is_given_back() -> None:
    """The config was mistaken; what it made of her ✅ meanwhile was held against her, unsaid."""
    async with on_slack() as slack:
        await heard_and_not_judged(slack)
        right = slack.world.workflow.policy
        await anas_account_is_bens(slack)
        await read_again(slack)
        await adopted(slack.world.workflow, right, slack.world.workflow.world.law.sentinel)
        await read_again(slack)
        assert await counting(slack) == ["ana"]


class EndsWithItsWord(Unwritable):
    """A store to which a process writes nothing more once it has refused somebody."""

    async def write(self, unit: Any) -> Any:
        trail = await self.store.read(lambda tx: trail_of(tx, "p1"))
        if any(entry.event.kind == "ignored" for entry in trail):
            await asyncio.Event().wait()
        return await self.store.write(unit)


async def test_it_counts_for_nobody_else_where_the_process_ended_before_it_said_whose_it_is() -> (
    None
):
    async with on_slack() as slack:
        card = await proposed(slack)
        world = slack.world.workflow.world
        store = world.store
        world.store = EndsWithItsWord(store)  # type: ignore[assignment]
        slack.server.fails("users.info", every=2)
        await slack.server.reacts("UANA", card.ts)

        async def refused() -> bool:
            return await slack.codes("p1") == ["not_a_reviewer"]

        await eventually_async(refused, "refused")
        await slack.closes()
        world.store = store
        await slack.restarts()
        await slack.settles()
        await anas_account_is_bens(slack)
        await read_again(slack)
        assert await counting(slack) == []
        assert (await slack.codes("p1"))[-1] == "stale_card"


async def test_one_on_a_message_that_counts_no_more_says_nothing_of_the_card_that_counts() -> None:
    """The next owner of its account was told to give anew what they had just given."""
    async with on_slack() as slack:
        first = await proposed(slack)
        slack.server.fails("chat.update", error="edit_window_closed", times=None)
        await slack.server.presses("UBEN", first, "signoff_approve")
        await eventually(lambda: len(slack.cards("p1")) == 2, "a card of its own")
        second = await slack.card("p1")
        await slack.settles()

        await given_while_nothing_can_be_stored(slack, first)
        slack.store_fails(False)
        slack.world.clock.advance(60)
        await slack.settles()
        await anas_account_is_zoes(slack)
        await read_again(slack)
        await slack.server.reacts("UANA", second.ts, heard=False)
        await read_again(slack)
        assert await counting(slack) == ["ben", "zoe"]


async def anas_account_is_zoes(slack: OnSlack) -> None:
    """Let a new config give ana's account to somebody who may do what she may."""
    workflow = slack.world.workflow
    people = dict(workflow.policy.people)
    people["zoe"] = replace(people["ana"], id="zoe")
    people["ana"] = replace(people["ana"], accounts={})
    await adopted(workflow, replace(workflow.policy, people=people), workflow.world.law.sentinel)


async def test_one_that_the_next_owner_gave_anew_counts_as_theirs_whatever_waited_before() -> None:
    """Ana's was taken off unheard. Zoe's counted, one short of what could be confirmed, and was
    then refused as ana's whenever the card was read."""
    async with on_slack() as slack:
        card = await heard_and_not_judged(slack)
        await slack.server.unreacts("UANA", card.ts, heard=False)
        await slack.server.presses("UBEN", card, "signoff_approve")
        await slack.settles()
        await anas_account_is_zoes(slack)
        slack.world.clock.advance(1)
        unread = slack.server.fails("users.info", holding="UBEN", times=None)
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        assert (await counting(slack), await state(slack)) == (["ben", "zoe"], "sentinel_approved")

        unread.times = 0
        await read_again(slack)
        await all_done(slack)
        assert await state(slack) == "completed"
        assert await slack.codes("p1") == ["not_a_reviewer"]


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("odd", [5, {"T1/UANA": "x"}, {"T1/UANA": []}, {"T1/UANA": ["ben", "x"]}])
async def test_a_note_that_somebody_wrote_over_keeps_no_card_from_being_read(
    odd: object, heard: bool
) -> None:
    async with on_slack() as slack:
        card = await proposed(slack)
        row = replace(await slack.card_row("p1"), extra={"unjudged": odd})
        await slack.world.store.write(lambda tx: tx.cards.put(row))
        await slack.server.reacts("UANA", card.ts, heard=heard)
        await (slack.settles() if heard else read_again(slack))
        assert await counting(slack) == ["ana"]
