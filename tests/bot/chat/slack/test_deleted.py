"""Cards and boards that somebody deletes: shown again, also where nobody told the bot of it."""

from __future__ import annotations

from bot.chat.cards.content import CardContent
from bot.chat.surface import Posted
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown


def boards(slack: OnSlack) -> list[Message]:
    return [m for m in slack.server.workspace.messages if "Signoff: what is open" in shown(m)]


async def test_a_card_that_is_deleted_before_it_is_written_down_is_shown_again_at_once() -> None:
    """Whose card it was no row said yet: it counted as shown, and was missed minutes later."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, proposal_id="p1")
        await slack.settles()
        post_card, gone = slack.surface.post_card, list[str]()

        async def deleted_at_once(content: CardContent, claim: str) -> Posted:
            posted = await post_card(content, claim)
            if not gone:
                gone.append(posted.message_id)
                await slack.server.deletes(posted.message_id)
                await slack.settles()
            return posted

        slack.surface.post_card = deleted_at_once  # type: ignore[method-assign]
        await slack.server.deletes(card.ts)
        await eventually(lambda: gone, "deleted")  # until then it looks as if it were shown again
        again = await eventually(lambda: [c for c in slack.cards("p1") if c.ts not in gone])
        await eventually_async(slack.nothing_stale, "written down")

        row = await slack.card_row("p1")
        assert row.message_ids == (card.ts, *gone, again[0].ts)


async def test_a_board_that_was_deleted_in_a_gap_is_posted_again_although_nothing_changes() -> None:
    async with on_slack() as slack:
        desk = slack.surface.desk
        assert desk is not None
        await eventually(lambda: boards(slack), "a board")
        await desk.board.show()
        slack.server.workspace.messages.remove(boards(slack)[0])
        await desk.board.show()
        assert not boards(slack)
        slack.world.clock.advance(181)
        await desk.board.show()
        assert len(boards(slack)) == 1
