"""A check mark of somebody for whom Slack does not vouch for a while was not taken off."""

from __future__ import annotations

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.chat.slack.counted import DEPLOY
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, on_slack


async def read_again(slack: OnSlack) -> None:
    slack.world.clock.advance(1_000)
    slack.hearing.began()
    await slack.broadcast.catch_up()
    await slack.settles()


async def counting(slack: OnSlack) -> list[str]:
    reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
    return [review.person for review in reviews if review.counts]


async def counted_and_away(slack: OnSlack, flag: str) -> Message:
    """Let ben's ✅ count on a card for two, and Slack not vouch for him any more."""
    card = await slack.proposes(PROD, approval_class="dual")
    await slack.server.reacts("UBEN", card.ts)
    await slack.settles()
    setattr(slack.server.workspace.users["UBEN"], flag, True)
    return card


@pytest.mark.parametrize("flag", ["deleted", "guest"])
async def test_what_was_taken_back_elsewhere_stays_so_while_its_check_mark_stands(
    flag: str,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ben"]
        ben = Sender("discord", ActorKind.PERSON, "ben", "12")
        assert (await slack.world.workflow.take_back("p1", ben)).done

        setattr(slack.server.workspace.users["UBEN"], flag, True)
        await read_again(slack)
        setattr(slack.server.workspace.users["UBEN"], flag, False)
        await read_again(slack)

        assert "UBEN" in card.reactions["white_check_mark"]
        assert await counting(slack) == []


@pytest.mark.parametrize("flag", ["deleted", "guest"])
async def test_what_counted_is_not_taken_back_while_its_check_mark_stands(flag: str) -> None:
    async with on_slack() as slack:
        card = await counted_and_away(slack, flag)
        await read_again(slack)

        assert "UBEN" in card.reactions["white_check_mark"]
        assert await counting(slack) == ["ben"]
        assert "approval_taken_back" not in await slack.world.trail("p1")


@pytest.mark.parametrize("flag", ["deleted", "guest"])
async def test_what_counted_makes_no_quorum_while_they_are_away_and_does_once_they_are_back(
    flag: str,
) -> None:
    async with on_slack() as slack:
        card = await counted_and_away(slack, flag)
        await read_again(slack)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert slack.world.tool(DEPLOY).verbs() == []

        setattr(slack.server.workspace.users["UBEN"], flag, False)
        await read_again(slack)
        assert slack.world.tool(DEPLOY).verbs() == ["execute"]


@pytest.mark.parametrize("flag", ["deleted", "guest"])
async def test_what_they_take_off_while_they_are_away_makes_no_quorum_once_they_are_back(
    flag: str,
) -> None:
    async with on_slack() as slack:
        card = await counted_and_away(slack, flag)
        await slack.server.unreacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == []

        setattr(slack.server.workspace.users["UBEN"], flag, False)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert slack.world.tool(DEPLOY).verbs() == []
