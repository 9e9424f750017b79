"""A card that may not be edited stands anew in a second message, and the first one stays: a ✅ that
is taken off the first says nothing of the one on the second."""

from __future__ import annotations

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.chat.slack.counted import counting, mention
from tests.bot.chat.slack.test_away_for_a_while import read_again
from tests.bot.chat.slack.test_unjudged import anas_account_is_zoes, proposed
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack


async def posted_twice(slack: OnSlack) -> tuple[Message, Message]:
    """Let ben approve what shows that in a second message, with ana's ✅ left on the first."""
    first = await proposed(slack)
    uneditable = slack.server.fails("chat.update", error="edit_window_closed", times=None)
    await slack.server.presses("UBEN", first, "signoff_approve")
    await eventually(lambda: len(slack.cards("p1")) == 2, "a card of its own")
    second = await slack.card("p1")
    await slack.settles()
    uneditable.times = 0
    await slack.server.reacts("UANA", first.ts, heard=False)
    return first, second


async def given_on_the_second_and_not_judged(slack: OnSlack, second: Message) -> None:
    """Let ana give a ✅ while Slack says who she is, and not whether she is a member."""
    unread = slack.server.fails("users.info", holding="UANA", every=3)
    await slack.server.reacts("UANA", second.ts)
    await slack.settles()
    unread.times = 0
    assert (await slack.codes("p1"), await counting(slack)) == (["not_a_reviewer"], ["ben"])


async def test_it_makes_no_approval_anew_of_one_that_was_taken_back_and_merely_stands() -> None:
    async with on_slack() as slack:
        first, second = await posted_twice(slack)
        await slack.world.workflow.freeze("so that nothing begins", slack.world.sender("ana"))
        await slack.server.reacts("UANA", second.ts)
        await slack.settles()
        assert await counting(slack) == ["ben", "ana"]
        ana = Sender("discord", ActorKind.PERSON, "ana", "11")
        assert (await slack.world.workflow.take_back("p1", ana)).done

        await slack.server.unreacts("UANA", first.ts)
        await slack.settles()
        await read_again(slack)
        assert await counting(slack) == ["ben"]


async def test_it_leaves_one_that_could_not_be_judged_to_whoever_had_the_account_then() -> None:
    """It was found as zoe's, who has the account by now and had approved nothing."""
    async with on_slack() as slack:
        first, second = await posted_twice(slack)
        await given_on_the_second_and_not_judged(slack, second)
        await slack.server.unreacts("UANA", first.ts)
        await slack.settles()
        await anas_account_is_zoes(slack)
        await read_again(slack)
        assert await counting(slack) == ["ben"]


@pytest.mark.parametrize("taken_back", [True, False])
async def test_one_that_could_not_be_judged_was_given_when_it_was_heard(taken_back: bool) -> None:
    """Ana took back what she had approved, and was counted for what she had given before that."""
    async with on_slack() as slack:
        first, second = await posted_twice(slack)
        await given_on_the_second_and_not_judged(slack, second)
        slack.world.clock.advance(5)
        if taken_back:
            await slack.server.unreacts("UANA", first.ts)
            await slack.settles()
        await read_again(slack)
        assert await counting(slack) == (["ben"] if taken_back else ["ben", "ana"])


async def test_what_stood_on_a_deleted_card_takes_nothing_back_where_it_stands_anew_at_once() -> (
    None
):
    """All in one millisecond: a ✅ that changed nothing seemed to be gone from the next message."""
    async with on_slack() as slack:
        first = await proposed(slack)
        await slack.server.says("UANA", mention(slack, "approve p1 looks right"))
        await slack.settles()
        await slack.server.reacts("UANA", first.ts)
        await slack.settles()
        assert (await slack.codes("p1"), await counting(slack)) == (["already_counted"], ["ana"])

        await slack.server.deletes(first.ts)
        await eventually(lambda: slack.cards("p1") and slack.cards("p1") != [first], "anew")
        await slack.settles()
        await read_again(slack)
        assert await counting(slack) == ["ana"]


async def bens_tick_on_the_first(slack: OnSlack) -> Message:
    """Let ana approve on the second, and ben give a ✅ on the first later; return the second."""
    first, second = await posted_twice(slack)
    await slack.world.workflow.freeze("so that nothing begins", slack.world.sender("ana"))
    await slack.server.unreacts("UANA", first.ts)
    await slack.server.reacts("UANA", second.ts)
    await slack.settles()
    slack.world.clock.advance(5)
    await slack.server.reacts("UBEN", first.ts)
    await slack.settles()
    assert (await slack.codes("p1"))[-1] == "stale_card"
    return second


@pytest.mark.parametrize("seeded", [False, True])
async def test_a_check_mark_on_the_first_takes_back_no_approval_on_the_second(
    seeded: bool,
) -> None:
    """That one did not stand on the first, and counted as taken off."""
    async with on_slack() as slack:
        if seeded:  # the bot could not take its own emoji off the first yet
            slack.server.fails("reactions.remove", "status", status=503, times=None)
        await bens_tick_on_the_first(slack)
        assert await counting(slack) == ["ben", "ana"]


async def test_a_check_mark_on_the_first_keeps_none_on_the_second_that_was_taken_off() -> None:
    """The second counted as cleared of emoji, as the first was: her approval stood for good."""
    async with on_slack() as slack:
        second = await bens_tick_on_the_first(slack)
        await slack.server.unreacts("UANA", second.ts, heard=False)
        await read_again(slack)
        assert await counting(slack) == ["ben"]


async def test_a_cross_on_the_first_that_decided_nothing_decides_nothing_with_a_check_mark() -> (
    None
):
    async with on_slack() as slack:
        first, _ = await posted_twice(slack)
        await slack.server.reacts("UANA", first.ts, "x")
        await slack.settles()
        slack.world.clock.advance(5)
        await slack.server.reacts("UBEN", first.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


async def test_a_check_mark_on_the_second_that_is_heard_once_it_was_taken_off_does_not_count() -> (
    None
):
    async with on_slack() as slack:
        _, second = await posted_twice(slack)
        await slack.server.event(slack.server.reaction("reaction_added", "UANA", second.ts))
        await slack.settles()
        assert await counting(slack) == ["ben"]
