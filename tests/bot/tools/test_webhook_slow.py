"""What a slow or broken line lets be known of a webhook is told, no more and no less."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType

import pytest

from bot.tools.webhook import WebhookTool
from lifecycle.calls.calling import CallResult, call_tool
from lifecycle.proposal import Outcome
from tests.contracts.tool_contract import call
from tests.fakes.listening import accepting


class Bench:
    parameters = MappingProxyType({"version": "1"})

    def __init__(self, url: str) -> None:
        self.tool = WebhookTool({"url": url, "roll_back": True}, {}, lambda: 1_772_452_800_000)


@asynccontextmanager
async def saying(head: bytes, *, then_gone: bool = False) -> AsyncIterator[int]:
    """Answer every call with these bytes, and with silence or the end behind them."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"}}")
            writer.write(head)
            if not then_gone:
                await asyncio.Event().wait()
        finally:
            writer.close()

    async with accepting(answer) as port:
        yield port


async def told(
    port: int, verb: str = "execute", scheme: str = "http", limit_s: float = 0.5
) -> CallResult:
    bench = Bench(f"{scheme}://127.0.0.1:{port}/hook")
    receipt = None if verb == "execute" else {}
    return await call_tool(bench.tool, call(bench, verb, receipt, limit_s=limit_s))


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize(
    "rest", [b"Content-Length: 9\r\n\r\n", b'Content-Length: 9\r\n\r\n{"id"', b'\r\n{"id": 7}']
)
async def test_a_status_that_says_done_is_taken_though_its_receipt_never_ends(status, rest):
    async with saying(b"HTTP/1.1 %d X\r\n" % status + rest) as port:
        result = await told(port)

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"status": status})


async def test_a_receipt_in_ten_thousand_pieces_holds_nobody_else_up():
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"id": 7' + b" " * 9_991 + b"}")
    head, turns = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with saying(head + pieces + b"0\r\n\r\n") as port:
        working = asyncio.create_task(others())
        result = await told(port, limit_s=30)
        working.cancel()

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"id": 7})
    assert turns > 10_000


async def test_what_still_stands_is_unknown_where_the_answer_never_ends():
    async with saying(b'HTTP/1.1 200 X\r\nContent-Length: 99\r\n\r\n{"still_stands": []') as port:
        result = await told(port, "roll_back")

    assert result.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
async def test_before_the_head_of_an_answer_is_whole_nothing_is_known(head):
    async with saying(head) as port:
        assert (await told(port)).outcome is Outcome.UNKNOWN


async def test_an_encryption_that_is_never_agreed_on_has_sent_nothing():
    async with saying(b"") as port:
        result = await told(port, scheme="https")

    assert result.outcome is Outcome.FAILED
    assert "could not be reached" in result.explanation


@pytest.mark.parametrize(
    "head", [b"", b"SSH-2.0\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
async def test_people_are_told_that_it_was_reached_where_its_answer_cannot_be_read(head):
    async with saying(head, then_gone=True) as port:
        result = await told(port)

    assert result.outcome is Outcome.UNKNOWN
    assert "it was reached and gave no answer that can be read" in result.explanation
