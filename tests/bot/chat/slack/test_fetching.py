"""A file that came with a message is fetched from Slack, and from nowhere else."""

from __future__ import annotations

import json
from functools import partial
from itertools import repeat

import pytest
from yarl import URL

from bot.chat.slack.fetching import fetched
from bot.chat.surface import SurfaceFailed
from tests.bot.chat.slack.sharing import shared
from tests.fakes.slack_server import SlackServer
from tests.slack_stage import OnSlack, eventually, on_slack

#: Addresses that whoever shares a file which lies elsewhere may write.
_NOT_SLACKS = (
    "http://files.slack.com/f.json",
    "https://files.slack.com:8443/f.json",
    "https://leila:secret@files.slack.com/f.json",
    "https://slack.com.evil.invalid/f.json",
    "https://evil.invalid\\@files.slack.com/f.json",
    "https://x..slack.com/f.json",
    "https://[files.slack.com/f.json",
    "file://files.slack.com/etc/passwd",
    "",
)


@pytest.mark.parametrize("url", _NOT_SLACKS)
async def test_an_address_that_is_not_slacks_is_answered_and_never_asked(url: str) -> None:
    async with on_slack() as slack:
        assert "The file was not read" in json.dumps(await shared(slack, url))


@pytest.mark.parametrize("sent_on", [False, True])
async def test_another_server_hears_nothing_of_us_not_even_where_slack_sends_us_there(
    *, sent_on: bool
) -> None:
    async with on_slack() as slack, SlackServer() as other:
        url = f"{other.base}/files/F1"
        if sent_on:
            slack.server.files.moved["F2"] = url
            url = f"{slack.server.base}/files/F2"
        answer = await shared(slack, url)
        assert "not on Slack" in json.dumps(answer)
        assert other.files.downloads == []


async def test_slack_may_send_us_on_to_itself_but_not_for_ever() -> None:
    async with on_slack() as slack:
        moved, base = slack.server.files.moved, slack.server.base
        moved["F1"] = f"{base}/files/F1"
        assert "on and on" in json.dumps(await shared(slack, f"{base}/files/F1"))

        file = slack.server.a_file("p1.json", slack.bytes_of(slack.document(proposal_id="p1")))
        moved["moved"] = f"/files/{file.id}"
        web = slack.surface.desk.web
        assert await web.download(f"{base}/files/moved", 100_000) == file.body


async def test_the_page_on_which_slack_asks_to_sign_in_is_not_the_file() -> None:
    async with on_slack() as slack:
        file = slack.server.a_file("p1.json", b"{}")
        token, slack.server.workspace.bot_token = slack.server.workspace.bot_token, "xoxb-anew"
        with pytest.raises(SurfaceFailed, match="does not give the file out"):
            await slack.surface.desk.web.download(f"{slack.server.base}/files/{file.id}", 100)
        slack.server.workspace.bot_token = token


async def with_a_file(slack: OnSlack) -> None:
    """Let leila propose p1 with a file."""
    file = slack.server.a_file("p1.json", slack.bytes_of(slack.document(proposal_id="p1")))
    await slack.server.says("ULEILA", "<@USIGNOFF> propose", files=[file])


def waits(caplog: pytest.LogCaptureFixture, status: int) -> bool:
    """Say whether the log tells that the command waits for a file, after this status."""
    return f"waits: Slack answers {status} for the file" in caplog.text


@pytest.mark.parametrize("failures", [(500,), (503, 429, 502)])
async def test_a_file_that_slack_fails_to_give_out_is_asked_for_again(
    failures: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with on_slack() as slack:
        slack.server.files.failures = iter(failures)
        await with_a_file(slack)
        for status in failures:
            await eventually(partial(waits, caplog, status))
            slack.world.clock.advance(5)
        assert (await slack.answered(proposal_id="p1"))["errors"] == []


async def test_a_file_that_slack_never_gives_out_is_refused_in_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack() as slack:
        slack.server.files.failures = repeat(503)
        await with_a_file(slack)
        await eventually(lambda: waits(caplog, 503))
        assert slack.answers() == []
        slack.world.clock.advance(301)
        answer = await slack.answered(reason="malformed_json")
        assert "Slack answers 503 for the file" in json.dumps(answer)
        assert len(slack.server.files.downloads) == 2


async def test_a_file_may_come_later_where_nobody_answers_for_it() -> None:
    """Only an address that is wrong stays so."""
    nobody = "http://127.0.0.1:9/files/F1"
    for url, lasting in ((nobody, False), ("http://[::", True)):
        with pytest.raises(SurfaceFailed) as caught:
            await fetched(url, URL(nobody), "xoxb-1", None, 100)
        assert caught.value.lasting is lasting
