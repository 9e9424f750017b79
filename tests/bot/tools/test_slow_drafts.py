"""What a slow disk still does with a draft is waited for by whoever takes that draft next."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MaildirBench
from tests.bot.tools.test_smtp import Post, SmtpBench, listening
from tests.contracts.tool_contract import call, done


class SlowDisk:
    """Moves a draft from a name that ends as `slow` says, into the folder that it names, only when
    it is told to: as it is, when a refused one is put back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fast, self.moved = threading.Event(), threading.Event()
        self.slow, self.at_work = (".eml.sending", "drafts"), list[object]()
        renamed = os.replace

        def replace(source, target, **given):
            ends, folder = self.slow
            slow = str(source).endswith(ends) and Path(target).parent.name == folder
            if slow:
                self.at_work.append(source)
                self.fast.wait(20)
            renamed(source, target, **given)
            if slow:
                self.moved.set()

        monkeypatch.setattr(os, "replace", replace)


@pytest.fixture
def disk(monkeypatch) -> Iterator[SlowDisk]:
    made = SlowDisk(monkeypatch)
    yield made
    made.fast.set()


async def refused_once(bench: SmtpBench, post: Post) -> dict[str, object]:
    """Execute, and let the server refuse it; return the receipt, with the draft on its way back."""
    receipt = (await done(bench, "execute")).receipt
    post.refuse = {"kim@partner.example"}
    refused = await call_tool(bench.tool, call(bench, "commit", receipt, limit_s=0.5))
    assert refused.outcome is Outcome.FAILED
    post.refuse = set()
    return dict(receipt)


async def test_a_retry_begins_with_no_draft_that_is_still_being_put_back(tmp_path, disk):
    """It was put back while it was being sent, and sent again by whoever looked for it after."""
    post = Post()

    async def meanwhile():
        disk.fast.set()
        await asyncio.to_thread(disk.moved.wait, 1)

    post.meanwhile = meanwhile
    async with listening(post) as port:
        bench = SmtpBench(tmp_path, port, post)
        receipt = await refused_once(bench, post)
        retry = call(bench, "commit", receipt, idempotency_key="p1:commit:2", limit_s=20)
        first = await call_tool(bench.tool, retry)
        disk.fast.set()
        second = await call_tool(bench.tool, retry)

    assert (first.outcome, second.outcome) == (Outcome.FAILED, Outcome.DONE)
    assert len(post.got) == 1
    assert [each.suffix for each in (tmp_path / "data" / "drafts").iterdir()] == []


async def test_a_draft_that_is_still_being_put_back_is_not_told_as_discarded(tmp_path, disk):
    post = Post()
    async with listening(post) as port:
        bench = SmtpBench(tmp_path, port, post)
        receipt = await refused_once(bench, post)
        early = call(bench, "roll_back", receipt, limit_s=0.5)
        too_early = await call_tool(bench.tool, early)
        disk.fast.set()
        result = await call_tool(bench.tool, call(bench, "roll_back", receipt))

    assert too_early.outcome is Outcome.FAILED
    assert (result.outcome, (result.receipt or {})["discarded"]) == (Outcome.DONE, True)
    assert list((tmp_path / "data" / "drafts").iterdir()) == []


async def test_a_mail_that_was_sent_is_told_as_sent_while_that_is_still_noted(tmp_path, disk):
    """It was told as failed with nothing left behind, and people were asked to have it sent."""
    disk.slow = ".eml.sending", "sent"
    post = Post()
    async with listening(post) as port:
        bench = SmtpBench(tmp_path, port, post)
        receipt = (await done(bench, "execute")).receipt
        asked = call(bench, "commit", receipt, limit_s=0.5)
        await call_tool(bench.tool, asked)
        again = await call_tool(bench.tool, replace(asked, idempotency_key="p1:commit:2"))
        taken_back = await call_tool(bench.tool, call(bench, "roll_back", receipt, limit_s=0.5))
        disk.fast.set()
        await asyncio.to_thread(disk.moved.wait, 20)

    assert (again.outcome, len(post.got)) == (Outcome.DONE, 1)
    assert taken_back.still_stands == ("the mail was sent",)


async def test_a_retry_begins_with_no_draft_that_an_earlier_attempt_still_claims(tmp_path, disk):
    """That one wrote its own claim over the newer one's, whose mail went out twice after a kill."""
    disk.slow = ".eml", "drafts"
    post = Post()
    async with listening(post) as port:
        bench = SmtpBench(tmp_path, port, post)
        receipt = (await done(bench, "execute")).receipt
        first = await call_tool(bench.tool, call(bench, "commit", receipt, limit_s=0.2))
        asked = call(bench, "commit", receipt, idempotency_key="p1:commit:2", limit_s=5)
        retried = await call_tool(bench.tool, asked)
        at_work = len(disk.at_work)
        disk.fast.set()
        async with asyncio.timeout(20):  # a disk may take its time after that, too
            while (last := await call_tool(bench.tool, asked)).outcome is Outcome.UNKNOWN:
                pass

    assert [each.outcome for each in (first, retried)] == [Outcome.UNKNOWN] * 2
    assert (at_work, last.outcome, len(post.got)) == (1, Outcome.DONE, 1)


async def test_a_mail_that_a_slow_disk_still_delivers_is_not_told_as_discarded(tmp_path, disk):
    """It was, and left for its recipients after that."""
    disk.slow = ".signoff", "new"
    bench = MaildirBench(tmp_path)
    receipt = (await done(bench, "execute")).receipt
    sent = await call_tool(bench.tool, call(bench, "commit", receipt, limit_s=0.2))
    asked = call(bench, "roll_back", receipt, limit_s=0.5)
    too_early = await call_tool(bench.tool, asked)
    undelivered = bench.acts()
    disk.fast.set()
    taken_back = await call_tool(bench.tool, replace(asked, limit_s=20))

    assert [each.outcome for each in (sent, too_early)] == [Outcome.UNKNOWN] * 2
    assert (undelivered, bench.acts()) == (0, 1)
    assert taken_back.still_stands == ("the mail was sent",)
