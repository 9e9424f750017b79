"""A webhook is one signed POST, and honest about what its answer means (design section 7)."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from types import MappingProxyType

import pytest
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from bot.tools.webhook import WebhookTool
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.contracts.tool_contract import Kind, ToolContract, call, done

NOW_MS = 1_772_452_800_000
ENVIRONMENT = {"WEBHOOK_SECRET": "whsec_" + "c2VjcmV0" * 4, "PLAIN_SECRET": "just words"}


class OtherSide:
    """A service on loopback: it recognises keys, deploys, rolls back, or answers as it is told."""

    def __init__(self) -> None:
        self.live: dict[str, dict] = {}
        self.heard: list[tuple[dict, bytes]] = []
        self.answer: web.StreamResponse | None = None
        self.act = None

    async def take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.heard.append((dict(request.headers), body))
        if self.act is not None:
            return await self.act(request)
        if self.answer is not None:
            return self.answer
        told = json.loads(body)
        if "version" not in told["parameters"]:
            return web.json_response({"error": "version"}, status=422)
        if told["verb"] == "execute":
            self.live[told["proposal_id"]] = told["parameters"]
        else:
            self.live.pop(told["proposal_id"], None)
        return web.json_response({"deployment": told["proposal_id"]})


@asynccontextmanager
async def serving(side: OtherSide) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/deploy", side.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/deploy"
    await runner.cleanup()


class WebhookBench:
    parameters = MappingProxyType({"version": "1"})
    failing = MappingProxyType({})

    def __init__(self, url: str, side: OtherSide, **settings) -> None:
        self.side = side
        given = {"url": url, "roll_back": True} | settings
        self.tool = WebhookTool(given, ENVIRONMENT, lambda: NOW_MS)

    def acts(self) -> int:
        return len(self.side.live)

    def staged(self) -> int:
        return 0


@pytest.fixture
def side() -> OtherSide:
    return OtherSide()


@pytest.fixture
async def url(side: OtherSide) -> AsyncIterator[str]:
    async with serving(side) as place:
        yield place


@pytest.fixture
def bench(url: str, side: OtherSide) -> WebhookBench:
    return WebhookBench(url, side)


class TestReversible(ToolContract):
    kind = Kind(reversible=True, deferred=False, idempotent=True)


class TestOneWay(ToolContract):
    kind = Kind(reversible=False, deferred=False, idempotent=True)

    @pytest.fixture
    def bench(self, url, side):
        return WebhookBench(url, side, roll_back=False)


@cache
def packed_twice(mebibytes: int) -> bytes:
    """Return a few hundred bytes that stand for so many of nothing."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    once = [packing.compress(bytes(1_048_576)) for _ in range(mebibytes)]
    return gzip.compress(b"".join(once) + packing.flush(), 9)


async def outcome_of(bench: WebhookBench, **change):
    return await call_tool(bench.tool, call(bench, "execute", **change))


async def test_the_body_is_the_call_and_the_headers_name_key_and_permit(bench, side):
    await done(bench, "execute")
    ((headers, body),) = side.heard

    assert json.loads(body) == call(bench, "execute", parameters={"version": "1"}).as_json()
    assert headers["Idempotency-Key"] == "p1:execute:1"
    assert headers["Signoff-Permit"] == "body.k1.signature"
    assert headers["Content-Type"] == "application/json"
    assert "webhook-signature" not in headers


@pytest.mark.parametrize("name", ["WEBHOOK_SECRET", "PLAIN_SECRET"])
async def test_a_secret_signs_the_call_by_standard_webhooks(url, side, name):
    await done(WebhookBench(url, side, secret_env=name), "execute")
    ((headers, body),) = side.heard
    secret = ENVIRONMENT[name]
    verifier = Webhook(secret if secret.startswith("whsec_") else secret.encode())

    named = headers["webhook-id"]
    assert named.startswith("p1:execute:1:")
    assert headers["webhook-timestamp"] == str(NOW_MS // 1000)
    with pytest.raises(WebhookVerificationError, match="timestamp"):
        verifier.verify(body, headers)  # the fake clock is not the verifier's
    at = int(headers["webhook-timestamp"])
    signed = verifier.sign(named, _moment(at), body.decode())
    assert headers["webhook-signature"] == signed


async def test_a_webhook_id_stands_for_one_call_for_one_document(url, side):
    """The other side leaves out what it has seen; beside another database the same key comes."""
    bench = WebhookBench(url, side, secret_env="PLAIN_SECRET")
    for digest in ("sha256:aa", "sha256:aa", "sha256:bb"):
        await outcome_of(bench, digest=digest)
    first, again, another = (headers["webhook-id"] for headers, _ in side.heard)

    assert first == again
    assert another != first


def _moment(seconds: int):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)


async def test_a_secret_that_is_not_there_means_that_nothing_was_sent(url, side):
    result = await outcome_of(WebhookBench(url, side, secret_env="NOPE"))

    assert (result.outcome, side.heard) == (Outcome.FAILED, [])
    assert "NOPE" in result.explanation


@pytest.mark.parametrize("secret", [" ", "\n", "whsec_", "whsec_ ", "whsec_====", "whsec_%"])
async def test_a_secret_that_everybody_knows_means_that_nothing_was_sent(
    url, side, secret, monkeypatch
):
    monkeypatch.setitem(ENVIRONMENT, "WEBHOOK_SECRET", secret)

    result = await outcome_of(WebhookBench(url, side, secret_env="WEBHOOK_SECRET"))

    assert (result.outcome, side.heard) == (Outcome.FAILED, [])
    assert "WEBHOOK_SECRET" in result.explanation


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


async def test_a_proxy_of_the_environment_is_not_used(bench, side, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    await done(bench, "execute")

    assert len(side.heard) == 1


def test_the_card_shows_where_it_posts_without_credentials_and_query(side):
    bench = WebhookBench("https://u:pw@deploy.example:8443/hook?token=abcd1", side)

    assert bench.tool.describe() == {"posts to": "https://deploy.example:8443/hook"}


async def test_what_still_stands_is_unknown_where_the_answer_cannot_be_read(bench, side):
    async def cut(_request: web.Request) -> web.StreamResponse:
        return web.Response(text='{"still_stands": ["a dep')

    side.act = cut

    assert (await call_tool(bench.tool, call(bench, "roll_back", {}))).outcome is Outcome.UNKNOWN
    assert (await outcome_of(bench)).outcome is Outcome.DONE
