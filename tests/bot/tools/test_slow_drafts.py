"""What a slow disk still does with a draft is waited for by whoever takes that draft next."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.test_smtp import Post, SmtpBench, listening
from tests.contracts.tool_contract import call, done


class SlowDisk:
    """Puts a refused draft back only when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fast, self.put_back = threading.Event(), threading.Event()
        renamed = os.replace

        def replace(source, target, **given):
            slow = str(source).endswith(".sending") and str(target).endswith(".eml")
            slow = slow and "drafts" in str(target)
            if slow:
                self.fast.wait(20)
            renamed(source, target, **given)
            if slow:
                self.put_back.set()

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
        await asyncio.to_thread(disk.put_back.wait, 1)

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
