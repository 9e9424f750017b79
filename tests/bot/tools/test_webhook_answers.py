"""What the answer to a webhook means, and where it means nothing (design section 7)."""

from __future__ import annotations

import asyncio
import gzip
import resource
import zlib
from collections.abc import AsyncIterator
from functools import cache

import pytest
from aiohttp import web

from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.posting import OtherSide, WebhookBench, outcome_of, serving
from tests.contracts.tool_contract import call, done


@pytest.fixture
def side() -> OtherSide:
    return OtherSide()


@pytest.fixture
async def bench(side: OtherSide) -> AsyncIterator[WebhookBench]:
    async with serving(side) as url:
        yield WebhookBench(url, side)


@cache
def packed_twice(mebibytes: int) -> bytes:
    """Return a few hundred bytes that stand for so many of nothing."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    once = [packing.compress(bytes(1_048_576)) for _ in range(mebibytes)]
    return gzip.compress(b"".join(once) + packing.flush(), 9)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.DONE),
        (201, Outcome.DONE),
        (204, Outcome.DONE),
        (202, Outcome.UNKNOWN),
        (206, Outcome.UNKNOWN),
        (301, Outcome.UNKNOWN),
        (302, Outcome.UNKNOWN),
        (307, Outcome.UNKNOWN),
        (308, Outcome.UNKNOWN),
        (400, Outcome.FAILED),
        (401, Outcome.FAILED),
        (404, Outcome.FAILED),
        (408, Outcome.UNKNOWN),
        (409, Outcome.UNKNOWN),
        (410, Outcome.FAILED),
        (422, Outcome.FAILED),
        (425, Outcome.UNKNOWN),
        (429, Outcome.FAILED),
        (500, Outcome.UNKNOWN),
        (502, Outcome.UNKNOWN),
        (503, Outcome.UNKNOWN),
    ],
)
async def test_the_status_says_how_it_ended_and_is_asked_once(bench, side, status, outcome):
    side.answer = web.Response(status=status, headers={"Location": "/deploy"})

    result = await outcome_of(bench)

    assert (result.outcome, len(side.heard)) == (outcome, 1)


@pytest.mark.parametrize(
    ("text", "receipt"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {"status": 200}),
        ("done", {"status": 200}),
        ("[1]", {"status": 200}),
        ("[" * 100_000, {"status": 200}),
        ('{"a": "' + "x" * 1_100_000 + '"}', {"status": 200}),
    ],
)
async def test_only_a_json_object_of_a_mebibyte_is_a_receipt(bench, side, text, receipt):
    side.answer = web.Response(text=text)

    assert (await done(bench, "execute")).receipt == receipt


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate", "br", "identity"])
async def test_a_packed_receipt_is_not_unpacked_and_the_status_still_says_done(
    bench, side, encoding
):
    side.answer = web.Response(body=packed_twice(100), headers={"Content-Encoding": encoding})
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert (await done(bench, "execute")).receipt == {"status": 200}

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50_000
    ((headers, _),) = side.heard
    assert headers["Accept-Encoding"] == "identity"


async def test_an_answer_that_breaks_off_after_done_is_done(bench, side):
    async def break_off(request):
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b'{"a":')
        request.transport.abort()
        return answer

    side.act = break_off

    assert (await outcome_of(bench)).outcome is Outcome.DONE


async def test_a_connection_never_made_has_done_nothing(side):
    result = await outcome_of(WebhookBench("http://127.0.0.1:1/deploy", side))

    assert result.outcome is Outcome.FAILED


async def test_a_connection_that_ends_without_an_answer_is_unknown(bench, side):
    async def hang_up(request):
        request.transport.abort()
        return web.Response()

    side.act = hang_up

    assert (await outcome_of(bench)).outcome is Outcome.UNKNOWN


async def test_no_answer_within_the_limit_is_unknown(bench, side):
    async def think(request):
        await asyncio.Event().wait()

    side.act = think

    assert (await outcome_of(bench, limit_s=0.2)).outcome is Outcome.UNKNOWN


async def test_an_answer_that_came_while_the_process_was_stopped_is_taken(bench, side, stopped_for):
    async def answer_meanwhile(request):
        stopped_for(90)
        return web.json_response({"id": 7})

    side.act = answer_meanwhile
    result = await outcome_of(bench)

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"id": 7})


async def test_what_still_stands_is_unknown_where_the_answer_cannot_be_read(bench, side):
    async def cut(_request: web.Request) -> web.StreamResponse:
        return web.Response(text='{"still_stands": ["a dep')

    side.act = cut

    assert (await call_tool(bench.tool, call(bench, "roll_back", {}))).outcome is Outcome.UNKNOWN
    assert (await outcome_of(bench)).outcome is Outcome.DONE
