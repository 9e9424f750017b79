"""Whatever is sent to any door, none answers 500, and none forgets who may see what."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from bot.intake.http.table import OPERATIONS
from tests.bot.intake.conftest import Outside
from tests.builders import MAIL, REFUND, a_document

SEEDS = range(2)
AN_ID = ("p1", "", "..", "%2e%2e", "a" * 300, "é", "p1%00", "p1/", "*", "p1?wait=1")
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 2**53, 2**64, "", "x" * 5000, "\u202e", "\x00", [], {}, [[]],
    {"a": {"b": {}}}, "../../etc", "NaN", {"s256": "x", "excerpt": 1},
)  # fmt: skip
RAW = (
    b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"a":1}{"b":2}', b'{"a":NaN}', b'{"a":1e999}',
    b'{"a":' * 5000, b'"' + b"x" * 300_000 + b'"', b'{"a":"\\ud800"}', b'{"proposal":1}',
    b'{"request_id":1}', b'{"llmProposal":{},"proposal":{}}',
)  # fmt: skip


def mangled(chance: random.Random, value: Any) -> Any:
    """Return a value with one place in it exchanged for junk."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {name: each for name, each in value.items() if name != key}
        return value | {key: mangled(chance, value[key])}
    return chance.choice(JUNK)


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_operation_answers_500(outside: Outside, seed: int) -> None:
    chance = random.Random(seed)
    async with outside.client() as client:
        await client.post("/v1/proposals", json=a_document(REFUND))
        for operation in OPERATIONS:
            for _ in range(4):
                path = operation.path
                for place in operation.places:
                    path = path.replace(f"{{{place}}}", chance.choice(AN_ID))
                body: Any = chance.choice(RAW)
                if chance.random() < 0.7:
                    base = chance.choice([MAIL, REFUND, {"permit": "x", "parameters": {}}])
                    body = json.dumps(mangled(chance, dict(base))).encode()
                query = chance.choice(["", "?wait=0", "?limit=x", "?cursor=%ff", "?state=[]"])
                answer = await client.request(
                    operation.method,
                    path + query,
                    content=body if operation.body else b"",
                    headers=chance.choice([{}, {"content-type": "text/plain"}]),
                )
                assert answer.status_code < 500, (operation.name, path, body[:200])


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_other_door_answers_500(outside: Outside, seed: int) -> None:
    chance = random.Random(seed)
    submission = {"tool": "issue-refund", "arguments": {"amount": "1.00"}, "timeout": "10m"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "propose"}}
    accept = {"accept": "application/json, text/event-stream", "idempotency-key": "k"}
    async with outside.client() as client:
        for _ in range(20):
            for path, base in (("/aap/v1/requests", submission), ("/mcp", ping)):
                raw = chance.random() < 0.2
                body = chance.choice(RAW) if raw else json.dumps(mangled(chance, base)).encode()
                answer = await client.post(path, content=body, headers=accept)
                assert answer.status_code < 500, (path, body[:200])
        for path in ("/aap/v1/requests/x", "/aap/v1/requests/x/consume", "/aap/v1/requests/%00"):
            for method in ("GET", "POST", "DELETE", "PUT"):
                answer = await client.request(method, path, headers=accept)
                assert answer.status_code < 500


@pytest.mark.parametrize(
    "wire",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/proposals HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/proposals HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused_and_the_door_goes_on(
    outside: Outside, wire: bytes
) -> None:
    host, _, port = outside.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(wire)
    await writer.drain()
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert line.split(b" ")[1] in (b"400", b"401", b"505")
    async with outside.client() as client:
        assert (await client.get("/healthz")).status_code == 200
