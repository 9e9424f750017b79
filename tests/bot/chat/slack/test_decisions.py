"""People decide on Slack: by emoji, button, command and reply."""

from __future__ import annotations

from tests.builders import PROD
from tests.slack_stage import eventually, on_slack, shown


async def test_an_agent_proposes_by_mention_and_is_answered_in_the_thread() -> None:
    async with on_slack() as slack:
        card = await slack.proposes()
        answer = await slack.answered(proposal_id="p1")
        assert answer["state"] == "sentinel_approved"
        assert "🔔 PROPOSAL from agent leila (PROPOSE tier)" in shown(card)
        asked = next(m for m in slack.server.workspace.messages if m.user == "ULEILA")
        told = next(m for m in slack.server.workspace.messages if "p1" in m.text and m.thread_ts)
        assert told.thread_ts == asked.ts


async def test_a_check_mark_opens_a_window_and_a_cross_in_it_takes_back() -> None:
    async with on_slack() as slack:
        card = await slack.proposes()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rolled_back")
        assert "white_check_mark" in card.reactions  # ana's own stays, the seeds are gone
        await eventually(lambda: "USIGNOFF" not in str(card.reactions), "removing the seeds")


async def test_a_confirm_proposal_is_executed_after_a_check_mark() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "white_check_mark::skin-tone-3")
        await slack.stands("p1", "completed")
        assert len(slack.cards("p1")) == 1
