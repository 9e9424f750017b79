"""Mail leaves once through a server, and what the server says decides (design section 7)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP, AuthResult

from bot.process.listening import stopped
from bot.tools.email import EmailTool
from bot.tools.smtp import SmtpCarrier
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MAIL, NOW_MS, MaildirBench
from tests.contracts.tool_contract import Kind, ToolContract, call, done


class Post:
    """A mail server on loopback that can be told to behave badly."""

    def __init__(self) -> None:
        self.got: list[tuple[str, list[str], bytes]] = []
        self.refuse: set[str] = set()
        self.refused: list[str] = []
        self.after_data = "250 OK"
        self.hang_up = False
        self.meanwhile = None

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address in self.refuse:
            self.refused.append(address)
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.hang_up:
            server.transport.abort()
            return "250 never heard"
        if self.after_data.startswith("250"):
            self.got.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return self.after_data


class SmtpBench(MaildirBench):
    def __init__(self, folder: Path, port: int, post: Post, **settings) -> None:
        self.folder, self.post = folder, post
        smtp = {"host": "127.0.0.1", "port": port} | settings
        carrier = SmtpCarrier(smtp, {"MAIL_USER": "u", "MAIL_WORD": "hunter2"})
        self.tool = EmailTool("agents@shop.example", carrier, folder, lambda: NOW_MS)

    def acts(self) -> int:
        return len(self.post.got)


@pytest.fixture
def post() -> Post:
    return Post()


@asynccontextmanager
async def listening(post: Post, **options) -> AsyncIterator[int]:
    """Serve on a free port of loopback, in the loop of the test."""
    loop = asyncio.get_running_loop()
    met: list[SMTP] = []

    def meets() -> SMTP:
        met.append(SMTP(post, loop=loop, **options))
        return met[-1]

    async with await loop.create_server(meets, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await stopped(server)
        for each in met:
            if each.transport is not None:
                each.transport.close()


@pytest.fixture
async def port(post: Post) -> AsyncIterator[int]:
    async with listening(post) as number:
        yield number


class TestSmtp(ToolContract):
    kind = Kind(reversible=True, deferred=True, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path, port, post):
        return SmtpBench(tmp_path, port, post)

    async def committed(self, bench, receipt, **change):
        return await call_tool(bench.tool, call(bench, "commit", receipt, **change))

    async def test_bcc_is_an_address_of_the_envelope_and_not_of_the_text(self, bench, post):
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)
        ((sender, recipients, text),) = post.got
        mail = message_from_bytes(text, policy=policy.default)

        assert sender == "agents@shop.example"
        assert recipients == ["pat@partner.example", "kim@partner.example", "quiet@shop.example"]
        assert mail["Bcc"] is None
        assert b"quiet" not in text
        assert mail.get_content().replace("\r\n", "\n") == MAIL["body"]

    async def test_one_refused_recipient_ends_it_for_all(self, bench, post):
        executed = await done(bench, "execute")
        post.refuse = {"kim@partner.example"}

        result = await self.committed(bench, executed.receipt)

        assert (result.outcome, post.got) == (Outcome.FAILED, [])
        assert "kim" not in result.explanation

    async def test_a_text_that_is_refused_failed(self, bench, post):
        executed = await done(bench, "execute")
        post.after_data = "451 try again"

        assert (await self.committed(bench, executed.receipt)).outcome is Outcome.FAILED

        post.after_data = "250 OK"
        assert (await self.committed(bench, executed.receipt)).outcome is Outcome.DONE
        assert len(post.got) == 1

    @pytest.mark.parametrize(
        ("answer", "outcome"),
        [("251 queued", Outcome.DONE), ("354 go on", Outcome.UNKNOWN), ("554 no", Outcome.FAILED)],
    )
    async def test_an_answer_to_the_text_is_taken_by_its_class(self, bench, post, answer, outcome):
        executed = await done(bench, "execute")
        post.after_data = answer

        assert (await self.committed(bench, executed.receipt)).outcome is outcome

    async def test_no_server_means_failed_and_the_draft_stays(self, tmp_path, post):
        bench = SmtpBench(tmp_path, 1, post)
        executed = await done(bench, "execute")

        result = await self.committed(bench, executed.receipt)

        assert (result.outcome, bench.staged()) == (Outcome.FAILED, 1)

    async def test_no_answer_after_the_text_is_unknown_and_not_sent_again_by_itself(
        self, bench, post
    ):
        executed = await done(bench, "execute")
        post.hang_up = True
        assert (await self.committed(bench, executed.receipt)).outcome is Outcome.UNKNOWN

        post.hang_up = False
        again = await self.committed(bench, executed.receipt)

        assert (again.outcome, post.got) == (Outcome.UNKNOWN, [])

    async def test_an_answer_that_came_while_the_process_was_stopped_is_taken(
        self, bench, post, stopped_for
    ):
        executed = await done(bench, "execute")

        async def meanwhile():
            stopped_for(90)
            for _ in range(9):  # until whoever waits has seen how late it is
                await asyncio.sleep(0)

        post.meanwhile = meanwhile
        result = await self.committed(bench, executed.receipt)

        assert (result.outcome, len(post.got)) == (Outcome.DONE, 1)

    async def test_a_mail_that_was_sent_is_done_however_slow_the_disk_is_then(
        self, bench, post, monkeypatch
    ):
        executed, fast, sync = await done(bench, "execute"), threading.Event(), os.fsync

        def synced(descriptor):
            if post.got:
                fast.wait(20)
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr("bot.tools.email._KEPT_S", 0.05)
        result = await self.committed(bench, executed.receipt, limit_s=4)
        fast.set()

        assert (result.outcome, len(post.got)) == (Outcome.DONE, 1)

    @pytest.mark.parametrize(
        ("refused", "outcome"), [(False, Outcome.DONE), (True, Outcome.FAILED)]
    )
    async def test_a_slow_disk_puts_nothing_in_doubt_that_the_server_made_clear(
        self, bench, post, monkeypatch, refused, outcome
    ):
        """Not at the end of its time either: it was unknown whether a refused mail was sent."""
        executed, fast, sync = await done(bench, "execute"), threading.Event(), os.fsync
        post.refuse = {"kim@partner.example"} if refused else set()

        def synced(descriptor):
            if post.got or post.refused:
                fast.wait(20)
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", synced)
        result = await self.committed(bench, executed.receipt, limit_s=1.5)
        fast.set()

        assert result.outcome is outcome

    async def test_a_persons_retry_sends_what_was_unknown(self, bench, post):
        executed = await done(bench, "execute")
        post.hang_up = True
        await self.committed(bench, executed.receipt)
        post.hang_up = False

        retried = await self.committed(bench, executed.receipt, idempotency_key="p1:commit:2")

        assert (retried.outcome, len(post.got)) == (Outcome.DONE, 1)

    async def test_what_was_unknown_can_still_be_discarded(self, bench, post):
        executed = await done(bench, "execute")
        post.hang_up = True
        await self.committed(bench, executed.receipt)

        await done(bench, "roll_back", executed.receipt)

        assert bench.staged() == 0

    async def test_a_password_that_is_not_there_means_failed(self, tmp_path, port, post):
        bench = SmtpBench(tmp_path, port, post, username_env="MAIL_USER", password_env="NOPE")
        executed = await done(bench, "execute")

        result = await self.committed(bench, executed.receipt)

        assert result.outcome is Outcome.FAILED
        assert "NOPE" in result.explanation

    async def test_tls_that_is_demanded_and_not_offered_means_failed(self, tmp_path, port, post):
        bench = SmtpBench(tmp_path, port, post, start_tls=True)
        executed = await done(bench, "execute")

        result = await self.committed(bench, executed.receipt)

        assert (result.outcome, post.got) == (Outcome.FAILED, [])


LOGIN = {"username_env": "MAIL_USER", "password_env": "MAIL_WORD"}


@pytest.mark.parametrize("said", [{}, {"start_tls": True}, {"tls": False}])
async def test_a_password_is_not_sent_where_anybody_on_the_way_could_read_it(tmp_path, post, said):
    async with logging_in(post) as (port, seen):
        bench = SmtpBench(tmp_path, port, post, **LOGIN, **said)
        executed = await done(bench, "execute")
        result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert (result.outcome, post.got, seen) == (Outcome.FAILED, [], [])
    assert "start_tls: false" in result.explanation or said == {"start_tls": True}


async def test_name_and_password_come_from_the_environment(tmp_path, post):
    async with logging_in(post) as (port, seen):
        bench = SmtpBench(tmp_path, port, post, **LOGIN, start_tls=False)
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)

    assert seen == [(b"u", b"hunter2")]
    assert len(post.got) == 1


@asynccontextmanager
async def logging_in(post: Post) -> AsyncIterator[tuple[int, list[tuple[bytes, bytes]]]]:
    """Serve without TLS whoever logs in; yields the port and what was heard of them."""
    seen: list[tuple[bytes, bytes]] = []

    def known(server, session, envelope, mechanism, data):
        seen.append((data.login, data.password))
        return AuthResult(success=True)

    async with listening(post, authenticator=known, auth_require_tls=False) as port:
        yield port, seen
