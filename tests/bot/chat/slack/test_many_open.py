"""Slack lets few cards be read a minute: with many open ones the urgent come first."""

from __future__ import annotations

from bot.chat.hearing.reading import READ_AGAIN_MS
from tests.bot.chat.slack.counted import state
from tests.builders import MAIL
from tests.roomy import a_roomy_policy
from tests.slack_stage import OnSlack, eventually, on_slack

OPEN = 8
AT_ONCE = 3


def passes(slack: OnSlack, seconds: int = READ_AGAIN_MS // 1000) -> None:
    """Let time pass on a connection over which signs of life come."""
    for _ in range(0, seconds, 30):
        slack.world.clock.advance(30)
        slack.hearing.alive()


async def many(slack: OnSlack) -> dict[str, str]:
    """Let leila propose much; return the proposal of each card."""
    cards = {}
    for number in range(OPEN):
        parameters = {**MAIL["parameters"], "subject": f"Invoice {number}"}
        card = await slack.proposes(parameters=parameters)
        cards[card.ts] = f"p{number + 1}"
    await slack.keeps_catching_up()
    await slack.settles()
    return cards


async def round_of(slack: OnSlack, cards: dict[str, str]) -> list[str]:
    """Let one round of catching up pass; return whose cards were read."""
    start = len(slack.server.calls_of("reactions.get"))
    await slack.broadcast.catch_up()
    read = slack.server.calls_of("reactions.get")[start:]
    return [cards[call.arguments["timestamp"]] for call in read]


async def test_a_few_cards_are_read_a_round_windows_first_then_the_nearest_deadline() -> None:
    async with on_slack(a_roomy_policy()) as slack:
        cards = await many(slack)
        for proposal_id in ("p6", "p4"):
            assert (await slack.world.workflow.approve(proposal_id, slack.world.sender("ana"))).done
            await slack.world.workflow.idle()
            slack.world.clock.advance(1)
        passes(slack)
        rounds = [await round_of(slack, cards) for _ in range(4)]
        assert all(len(each) <= AT_ONCE for each in rounds)
        read = [each for of_one in rounds for each in of_one]
        assert read[:2] == ["p6", "p4"]
        assert sorted(read) == sorted(cards.values())


async def test_after_a_gap_all_cards_are_read_at_once_the_windows_first() -> None:
    async with on_slack(a_roomy_policy()) as slack:
        cards = await many(slack)
        assert (await slack.world.workflow.approve("p7", slack.world.sender("ana"))).done
        await slack.world.workflow.idle()
        slack.hearing.lost("cut off")
        slack.hearing.began()
        read = await round_of(slack, cards)
        assert read[0] == "p7"
        assert sorted(read) == sorted(cards.values())


async def test_one_card_that_cannot_be_read_has_none_of_the_others_read_again_with_it() -> None:
    async with on_slack(a_roomy_policy()) as slack:
        cards = await many(slack)
        (broken,) = [ts for ts, proposal_id in cards.items() if proposal_id == "p3"]
        slack.server.fails("reactions.get", "error", times=None, holding=broken)
        slack.hearing.lost("cut off")
        slack.hearing.began()
        slack.world.clock.advance(1)
        assert sorted(await round_of(slack, cards)) == sorted(cards.values())
        for _ in range(3):
            passes(slack)
            for _ in range(3):
                read = await round_of(slack, cards)
                assert len([each for each in read if each != "p3"]) <= AT_ONCE
        assert slack.hearing.gap


async def test_a_window_does_not_close_before_its_card_is_read_although_others_wait_for_it() -> (
    None
):
    async with on_slack(a_roomy_policy()) as slack:
        cards = await many(slack)
        assert (await slack.world.workflow.approve("p1", slack.world.sender("ana"))).done
        await slack.world.workflow.idle()
        passes(slack, 930)
        await round_of(slack, cards)
        card = slack.cards("p1")[-1]
        card.reactions["x"].append("UBEN")  # nobody is told of it
        await slack.world.workflow.close_due()
        assert await state(slack) == "rolled_back"


async def test_a_card_under_which_the_same_people_stand_is_read_in_one_call() -> None:
    async with on_slack() as slack:
        card = await slack.proposes()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        await slack.keeps_catching_up()
        passes(slack)
        assert len(await round_of(slack, {card.ts: "p1"})) == 1
        card.reactions["x"].append("UBEN")  # somebody who was not there before
        passes(slack)
        assert len(await round_of(slack, {card.ts: "p1"})) == 2
        await eventually(lambda: slack.world.tool("send-email").verbs()[-1] == "roll_back", "it")
