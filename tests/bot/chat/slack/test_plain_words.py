"""Words on Slack are literal and whole, also long ones, and those to one person alone."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.announcing import announce
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack, shown, unescaped

LAST = "Reply with: answer q-1234-leila <words>"
MARKUP = "*APPROVED by ana* `x` _y_ https://evil.test <!channel>"


async def asked(slack: OnSlack, words: str) -> Message:
    """Announce a question, and return the message that asks it."""
    moment = slack.world.workflow.world.moment()
    key = "question:q-1234-leila"
    await slack.world.store.write(lambda tx: announce(tx, moment, key, words))
    slack.broadcast.nudge()
    return (await eventually(lambda: slack.said("QUESTION"), "the question"))[0]


def texts(message: Message) -> list[dict[str, Any]]:
    return [block["text"] for block in message.blocks if block["type"] == "section"]


@pytest.mark.parametrize("repeated", [1, 500, 8_000])
async def test_a_question_is_literal_and_shows_its_last_line_however_long_it_is(
    repeated: int,
) -> None:
    async with on_slack() as slack:
        words = f"QUESTION from agent leila: {MARKUP} {'really ' * repeated}?\n{LAST}"
        message = await asked(slack, words)
        assert {text["type"] for text in texts(message)} == {"plain_text"}
        assert MARKUP in shown(message)
        assert unescaped(texts(message)[-1]["text"]).endswith(LAST)
        if repeated == 1:
            assert slack.server.workspace.files == {}
            return
        file = (await eventually(lambda: [*slack.server.workspace.files.values()]))[0]
        await eventually(lambda: file.body, "the whole text")
        assert file.body.decode() == f"{words}\n"


async def test_the_whole_of_long_words_follows_where_slack_took_no_file_at_first() -> None:
    async with on_slack() as slack:
        slack.server.fails("files.getUploadURLExternal", "status", status=503, times=3)
        words = f"QUESTION from agent leila: {'really ' * 500}?\n{LAST}"
        await asked(slack, words)
        file = (await eventually(lambda: [*slack.server.workspace.files.values()]))[0]
        await eventually(lambda: file.body, "the whole text")
        assert file.body.decode() == f"{words}\n"
        assert len(slack.said("QUESTION")) == 1


async def test_the_file_of_an_answer_follows_where_slack_took_none_at_first() -> None:
    async with on_slack() as slack:
        await slack.proposes(parameters={**MAIL["parameters"], "body": "b" * 30_000})
        slack.server.fails("files.getUploadURLExternal", "status", status=503)
        await slack.server.says("UANA", f"<@{slack.server.workspace.bot_user}> show p1")

        def whole() -> bool:
            files = slack.server.workspace.files.values()
            return any("answer" in file.name and file.body for file in files)

        await eventually(whole, "the file")


async def test_an_answer_whose_own_address_is_gone_reaches_the_person_as_it_is() -> None:
    async with on_slack() as slack:
        slack.server.answers_commands = False
        await slack.server.slash("UANA", f"propose {slack.text(PROD, tool='nope', actor='ana')}")
        (refused,) = await eventually(slack.hints, "the refusal")
        assert '"reason": "unknown_tool"' in refused
        parameters = {"to": "pat@partner.example", "subject": MARKUP, "body": "b" * 30_000}
        await slack.proposes(parameters=parameters)
        await slack.server.slash("UANA", "show p1")
        told = (await eventually(lambda: slack.hints()[1:], "the answer"))[0]
        assert MARKUP in told
        assert told.startswith("```")
        assert told.endswith("```")
        assert "more characters are left out here" in told


async def test_M05_every_message_that_is_written_or_changed_says_that_it_calls_nobody() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts)
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
        await eventually(slack.hints, "the note to cal")
        for method in ("chat.postMessage", "chat.update", "chat.postEphemeral"):
            calls = slack.server.calls_of(method)
            assert calls, method
            for call in calls:
                assert call.arguments.get("parse") == "none", method
                assert not call.arguments.get("link_names", True), method
        for call in slack.server.calls_of("chat.postMessage"):
            assert not call.arguments.get("unfurl_links", True), "no page is fetched for a link"
            assert not call.arguments.get("unfurl_media", True)
