"""What is said of the bot's own emoji under cards is true."""

from __future__ import annotations

from tests.builders import PROD
from tests.slack_stage import eventually, on_slack


async def test_a_card_that_was_deleted_is_not_counted_as_one_without_the_bots_emoji() -> None:
    async with on_slack() as slack:
        slack.server.fails("reactions.add", times=2)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: "without the bot's emoji" in slack.health(), "told")
        (card,) = slack.cards("p1")
        await slack.settles()
        await slack.server.deletes(card.ts)
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.settles()
        assert "without the bot's emoji" not in slack.health()


async def test_a_card_that_is_deleted_while_it_gets_its_emoji_is_not_counted_as_one_without() -> (
    None
):
    """Nobody would ever put them there, so that `status` told of it for good."""
    async with on_slack() as slack:
        slack.server.hold("reactions.add")
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await eventually(lambda: slack.server.waiting("reactions.add"), "being put there")
        (card,) = slack.cards("p1")
        await slack.server.deletes(card.ts)
        await slack.settles()
        slack.server.release("reactions.add")
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        await slack.settles()
        assert "without the bot's emoji" not in slack.health()
