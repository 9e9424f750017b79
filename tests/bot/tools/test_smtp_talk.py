"""Whatever a mail server says or leaves out, and wherever: what is told of the mail is so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from aiosmtplib import SMTPException

from bot.tools.email import EmailTool
from bot.tools.smtp import SmtpCarrier, _nothing_ahead
from lifecycle.calls.calling import CallResult, call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import NOW_MS, MaildirBench
from tests.bot.tools.talking import GONE, SILENCE, talking
from tests.contracts.tool_contract import call, done
from tests.slack_stage.waiting import eventually

LOGIN = {"username_env": "MAIL_USER", "password_env": "MAIL_WORD", "start_tls": False}
OFFERS_LOGIN = "250-well\n250 AUTH PLAIN"
OFFERS_TLS = "250-well\n250 STARTTLS"


class TalkBench(MaildirBench):
    def __init__(self, folder: Path, port: int, **settings) -> None:
        self.folder = folder
        smtp = {"host": "127.0.0.1", "port": port} | settings
        carrier = SmtpCarrier(smtp, {"MAIL_USER": "u", "MAIL_WORD": "hunter2"})
        self.tool = EmailTool("agents@shop.example", carrier, folder, lambda: NOW_MS)


async def committed(bench: TalkBench, limit_s: float) -> CallResult:
    executed = await done(bench, "execute")
    return await call_tool(bench.tool, call(bench, "commit", executed.receipt, limit_s=limit_s))


@pytest.mark.parametrize("answer", [SILENCE, GONE, "421 busy", "554 no", "no number"])
@pytest.mark.parametrize("step", ["greeting", "MAIL", "RCPT_1", "RCPT_3", "DATA"])
async def test_what_fails_before_the_text_has_sent_nothing(tmp_path, step, answer):
    async with talking(**{step: answer}) as (port, talk):
        bench = TalkBench(tmp_path, port)
        result = await committed(bench, limit_s=0.3 if answer == SILENCE else 20)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])
    assert "nothing was sent" in result.explanation
    await eventually(lambda: bench.staged() == 1, "that the draft is put back")


@pytest.mark.parametrize("answer", [SILENCE, GONE, "535 no"])
async def test_a_login_that_fails_has_sent_nothing(tmp_path, answer):
    async with talking(EHLO=OFFERS_LOGIN, AUTH=answer) as (port, talk):
        limit_s = 0.3 if answer == SILENCE else 20
        result = await committed(TalkBench(tmp_path, port, **LOGIN), limit_s)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])
    assert "login" in result.explanation


@pytest.mark.parametrize("answer", [SILENCE, GONE, "220 go on", "454 no"])
async def test_an_encryption_that_fails_has_sent_nothing(tmp_path, answer):
    async with talking(EHLO=OFFERS_TLS, STAR=answer) as (port, talk):
        result = await committed(TalkBench(tmp_path, port), limit_s=1)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])


@pytest.mark.parametrize("answer", ["220 hello", "221 bye", "250 taken", "251 queued"])
async def test_a_text_that_was_not_asked_for_is_not_sent_and_not_told_as_sent(tmp_path, answer):
    async with talking(DATA=answer) as (port, talk):
        result = await committed(TalkBench(tmp_path, port), limit_s=20)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])


@pytest.mark.parametrize("step", ["MAIL", "RCPT_1", "RCPT_3"])
async def test_an_answer_that_comes_twice_is_not_taken_for_that_to_the_text(tmp_path, step):
    async with talking(**{step: "250 well\n250 well"}) as (port, talk):
        result = await committed(TalkBench(tmp_path, port), limit_s=20)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])


@pytest.mark.parametrize(
    "ahead",
    [
        {"DATA": "354 go on\n250 taken"},
        {"DATA": "354-go\n354 on\n250 taken"},
        {"RCPT_3": "250 well\n354 go on", "DATA": "250 eh"},
    ],
)
async def test_an_answer_to_the_text_that_comes_before_the_text_is_none(tmp_path, ahead):
    async with talking(**ahead, text="554 no") as (port, talk):
        result = await committed(TalkBench(tmp_path, port), limit_s=20)

    assert (result.outcome, talk.texts) == (Outcome.FAILED, [])
    assert "nothing was sent" in result.explanation


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("250-taken\n250 as 1234", Outcome.DONE),
        ("421 busy", Outcome.FAILED),
        ("599 no", Outcome.FAILED),
        (GONE, Outcome.UNKNOWN),
        (SILENCE, Outcome.UNKNOWN),
        ("no number", Outcome.UNKNOWN),
        ("354 go on", Outcome.UNKNOWN),
        ("221 bye", Outcome.UNKNOWN),
        ("777 well", Outcome.UNKNOWN),
    ],
)
async def test_once_the_text_is_on_its_way_only_a_clear_answer_counts(tmp_path, answer, outcome):
    async with talking(text=answer) as (port, talk):
        limit_s = 1 if answer == SILENCE else 20
        result = await committed(TalkBench(tmp_path, port), limit_s)

    assert (result.outcome, len(talk.texts)) == (outcome, 1)


async def test_people_are_told_at_which_recipient_it_ended_and_not_who_that_is(tmp_path):
    async with talking(RCPT_2="550 kim@partner.example is unknown") as (port, _):
        result = await committed(TalkBench(tmp_path, port), limit_s=20)

    assert "recipient 2 of 3 (550)" in result.explanation
    assert "kim" not in result.explanation


def test_a_library_that_hides_what_was_said_too_early_sends_nothing():
    """Its next version may keep that under another name."""
    with pytest.raises(SMTPException, match="does not show"):
        _nothing_ahead(SimpleNamespace(protocol=SimpleNamespace()))
