"""What Slack cannot do just now is done later: no answer is dropped and no agent unknown for it."""

from __future__ import annotations

import json

import pytest

from tests.bot.chat.slack.counted import mention
from tests.slack_stage import OnSlack, on_slack

#: Codes that Slack documents for a moment in which it does not work, for every method.
PASSING = [
    "internal_error",
    "fatal_error",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
    "org_login_required",
    "rate_limited",
]


def proposing(slack: OnSlack) -> str:
    return mention(slack, f"propose {json.dumps(slack.document(proposal_id='p1'))}")


@pytest.mark.parametrize("error", PASSING)
async def test_an_answer_that_slack_cannot_post_just_now_is_given(error: str) -> None:
    async with on_slack() as slack:
        slack.server.fails("chat.postMessage", error=error, holding="proposal_id", times=2)
        asked, _ = await slack.server.says("ULEILA", proposing(slack))
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"
        await slack.settles()
        said = [m for m in slack.said("proposal_id") if m.user == "USIGNOFF"]
        assert [m.thread_ts for m in said] == [asked.ts]


@pytest.mark.parametrize("error", PASSING)
async def test_an_agent_whom_slack_cannot_name_just_now_is_no_stranger(error: str) -> None:
    """A message under a name of its own choice comes with the id of its bot alone."""
    async with on_slack() as slack:
        slack.server.fails("bots.info", error=error)
        message, _ = await slack.server.says("ULEILA", "hello")
        event = {"type": "message", "subtype": "bot_message", "bot_id": "BLEILA", "ts": message.ts}
        await slack.server.event(
            event | {"channel": message.channel, "text": proposing(slack), "team": "T1"}
        )
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"
        assert await slack.codes() == []


@pytest.mark.parametrize("error", PASSING)
async def test_a_file_that_slack_cannot_name_just_now_is_read(error: str) -> None:
    async with on_slack() as slack:
        slack.server.bare_mentions = True
        slack.server.fails("conversations.replies", error=error)
        body = json.dumps(slack.document(proposal_id="p1")).encode()
        file = slack.server.a_file("p1.json", body)
        await slack.server.says("ULEILA", mention(slack, "propose"), files=[file])
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"
