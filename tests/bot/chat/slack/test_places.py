"""Who speaks in the wrong place on Slack is led to the right one, and an end finds its place."""

from __future__ import annotations

import pytest

from tests.bot.chat.slack.counted import mention
from tests.builders import PROD
from tests.slack_stage import eventually, on_slack


async def test_who_speaks_in_the_wrong_channel_is_given_a_link_to_the_right_one() -> None:
    async with on_slack() as slack:
        await slack.server.says("UANA", mention(slack, "pending"), channel="C0ELSE")
        (told,) = await eventually(lambda: slack.server.workspace.ephemeral, "the note")
        assert (told["channel"], told["user"]) == ("C0ELSE", "UANA")
        assert told["text"].endswith(" <#C0OPS>")
        await slack.settles()
        assert await slack.codes() == ["wrong_place"]


@pytest.mark.parametrize("how", ["mention", "slash"])
async def test_an_end_is_told_in_the_channel_where_the_thread_it_belongs_to_is_gone(
    how: str,
) -> None:
    async with on_slack() as slack:
        text = slack.text(PROD, proposal_id="p1", actor="leila" if how == "mention" else "ana")
        if how == "mention":
            gone, _ = await slack.server.says("ULEILA", mention(slack, f"propose {text}"))
            await slack.card("p1")
        else:
            await slack.server.slash("UANA", f"propose {text}")
            gone = await slack.card("p1")  # under which it would be told
        await slack.settles()
        slack.server.workspace.messages.remove(gone)
        await slack.server.slash("UBEN", "reject p1 no")
        await slack.answered(proposal_id="p1", state="rejected")
        ended = next(m for m in slack.server.workspace.messages if '"rejected"' in m.text)
        assert ended.thread_ts is None
