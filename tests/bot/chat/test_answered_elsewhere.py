"""A question of an agent stands on every surface: who answers it second is told who was first."""

from __future__ import annotations

import pytest

from lifecycle.event_kinds import EventKind
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_server.state import Message as OnDiscord
from tests.fakes.discord_stage import ANA, BEN
from tests.fakes.slack_server.workspace import Message as OnSlack
from tests.mirror import Mirror, mirrored
from tests.slack_stage import eventually, eventually_async
from tests.stories.test_questions import asks

BEFORE = "ben answered this question before you"


async def asked(both: Mirror) -> tuple[str, OnDiscord, OnSlack]:
    """Let leila ask; return the question's id and where it stands on both platforms."""
    answer = await asks(both.slack.world, "May I refund order 17?")
    asked_id = str(answer.result["question_id"])
    standing, said = both.discord.state.messages[CHANNEL], both.slack.server.workspace.messages
    on_discord = await eventually(
        lambda: next((m for m in standing.values() if asked_id in m.data["content"]), None)
    )
    on_slack = await eventually(lambda: next((m for m in said if asked_id in m.text), None))
    return asked_id, on_discord, on_slack


async def _answered(both: Mirror) -> bool:
    return bool(await both.slack.world.audit(EventKind.QUESTION_ANSWERED))


@pytest.mark.parametrize("how", ["a reply on Discord", "a command on Slack"])
async def test_who_replies_on_slack_to_what_was_answered_elsewhere_is_told_who_was_first(
    how: str,
) -> None:
    async with mirrored() as both:
        asked_id, on_discord, on_slack = await asked(both)
        if how == "a reply on Discord":
            both.discord.says(BEN, "Yes, but only once.", reply_to=on_discord.id)
        else:
            await both.slack.server.slash("UBEN", f"answer {asked_id} Yes, but only once.")
        await eventually_async(lambda: _answered(both), "the answer")

        await both.slack.server.says("UANA", "No.", thread_ts=on_slack.ts)

        await eventually(lambda: any(BEFORE in hint for hint in both.slack.hints()), "told")
        assert await both.slack.codes() == ["already_decided"]
        assert len(await both.slack.world.audit(EventKind.QUESTION_ANSWERED)) == 1


async def test_who_replies_on_discord_to_what_was_answered_on_slack_is_told_who_was_first() -> None:
    async with mirrored() as both:
        _, on_discord, on_slack = await asked(both)
        await both.slack.server.says("UBEN", "Yes, but only once.", thread_ts=on_slack.ts)
        await eventually_async(lambda: _answered(both), "the answer")

        both.discord.says(ANA, "No.", reply_to=on_discord.id)

        await eventually(lambda: BEFORE in both.said_on_discord(), "told")
        assert len(await both.slack.world.audit(EventKind.QUESTION_ANSWERED)) == 1
