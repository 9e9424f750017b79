"""What stands on the wire: every form of a target, broken messages, and clients that leave."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from bot.intake.http.protocol import PromptProtocol
from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_protocol import connected
from tests.builders import PROD

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
BEARER = b"Authorization: Bearer leila-token\r\n"


async def said(outside: Outside, wire: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes and return the first answer: status, fields in lower case, body."""
    reader, writer = await connected(outside)
    writer.write(wire)
    async with asyncio.timeout(5):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(fields["content-length"]))
    writer.close()
    return int(head[0].split(" ")[1]), fields, body


async def the_door_has_read_what_came(outside: Outside) -> None:
    """Return once a later message was answered."""
    async with outside.client() as other:
        assert (await other.get("/v1/whoami")).status_code == 200


TARGETS = [
    (b"http://signoff.example/v1/tools", 200),
    (b"HTTP://signoff.example:8080/v1/tools?x=1", 200),
    (b"https://[::1]:8080/v1/proposals?limit=1", 200),
    (b"http://signoff.example/v1/proposals?limit=x", 400),
    (b"http://signoff.example", 404),
    (b"http://signoff.example?limit=1", 404),
    (b"//v1/tools", 404),
    (b"http://leila:secret@signoff.example/v1/tools", 400),
    (b"http:///v1/tools", 400),
    (b"ftp://signoff.example/v1/tools", 400),
    (b"v1/tools", 400),
]


async def test_a_target_is_a_path_or_a_whole_address(outside: Outside) -> None:
    for target, status in TARGETS:
        wire = b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n" + BEARER + b"\r\n"
        found, fields, body = await said(outside, wire)

        kind = "application/json" if status == 200 else "application/problem+json"
        assert (found, fields["content-type"]) == (status, kind), target
        assert b"secret" not in body


async def test_the_host_of_the_address_counts_and_not_the_field(outside: Outside) -> None:
    here, elsewhere = b"127.0.0.1:80", b"evil.example"
    for address, field, status in ((elsewhere, here, 421), (here, elsewhere, 406)):
        wire = b"POST http://%s/mcp HTTP/1.1\r\nHost: %s\r\n" % (address, field)
        wire += b"Content-Type: application/json\r\nAccept: x/y\r\n"
        wire += b"Content-Length: %d\r\n" % len(PING)
        found, *_ = await said(outside, wire + BEARER + b"\r\n" + PING)

        assert found == status


POST = b"POST /v1/proposals HTTP/1.1\r\nHost: x\r\n" + BEARER
BROKEN = [
    (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    (b"\x00\x01\x02\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 20_000, 431),
    (POST + b"Content-Length: -1\r\n\r\n", 400),
    (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", 400),
    (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 400),
    (POST + b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n", 400),
]


async def test_a_broken_message_is_refused_as_everything_is(
    outside: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    for wire, status in BROKEN:
        found, fields, body = await said(outside, wire)

        kind = (found, fields["content-type"], fields["connection"])
        assert kind == (status, "application/problem+json", "close"), wire
        problem = json.loads(body)
        assert (problem["status"], problem["error"]) == (status, None)
    async with outside.client() as client:
        assert (await client.get("/healthz")).status_code == 200
    assert [each for each in caplog.records if each.levelname != "INFO"] == []


async def test_a_body_that_breaks_behind_its_answer_gets_no_second_one(
    outside: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await connected(outside)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"no chunk\r\n")
    async with asyncio.timeout(5):
        rest = await reader.read()
    writer.close()

    assert b"HTTP/1.1" not in rest
    assert [each for each in caplog.records if each.levelname != "INFO"] == []


async def test_too_many_connections_are_refused_as_everything_is(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol.most_connections", lambda: 0)
    status, fields, body = await said(outside, b"")
    assert (status, fields["retry-after"]) == (503, "5")
    assert json.loads(body)["retry_after_s"] == 5


WAIT = b"GET /v1/proposals/p1?wait=60 HTTP/1.1\r\nHost: x\r\n" + BEARER
#: What may follow a message: an empty line, as old clients send it, and another message.
BEHIND = [b"\r\n", b"x", b"GET /v1/whoami HTTP/1.1\r\nHost: x\r\n\r\n"]


@pytest.mark.parametrize("behind", BEHIND)
async def test_what_follows_the_last_message_does_not_call_it_broken(
    outside: Outside, behind: bytes
) -> None:
    await outside.world.submits(PROD, proposal_id="p1")
    reader, writer = await connected(outside)
    writer.write(WAIT + b"Connection: close\r\n\r\n")
    await the_door_has_read_what_came(outside)
    writer.write(behind)
    await the_door_has_read_what_came(outside)
    await outside.world.shows()
    await outside.world.rejects("ana", "p1")
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_whoever_sends_without_end_behind_its_last_message_is_hung_up_on(
    outside: Outside,
) -> None:
    await outside.world.submits(PROD, proposal_id="p1")
    _, writer = await connected(outside)
    writer.write(WAIT + b"Connection: close\r\n\r\n")
    await the_door_has_read_what_came(outside)

    async def sends_without_end() -> None:
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with asyncio.timeout(5):
        with pytest.raises(ConnectionError):
            await sends_without_end()
    writer.close()


# -- clients that leave ---------------------------------------------------------------------


async def settled_at(count: int) -> None:
    """Wait until no more tasks than `count` are left."""
    async with asyncio.timeout(5):
        while len(asyncio.all_tasks()) > count:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)


def calling(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()


async def test_nothing_is_held_back_for_a_client_that_has_left(
    outside: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    await outside.world.submits(PROD, proposal_id="p1")
    call = {"tool": "issue-refund", "arguments": {"amount": "2.00", "currency": "USD"}}
    async with outside.client() as leila:
        asked = await leila.post(
            "/aap/v1/requests", json=call | {"timeout": "10m"}, headers={"idempotency-key": "k"}
        )
    body = calling("wait", proposal_id="p1", timeout_s=300)
    mcp = (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n" % len(body)
    )
    before = len(asyncio.all_tasks())
    for wire in (
        b"GET /v1/proposals/p1?wait=60 HTTP/1.1\r\nHost: x\r\n" + BEARER + b"\r\n",
        b"GET /aap/v1/requests/%s?wait=60s HTTP/1.1\r\nHost: x\r\n" % asked.json()["id"].encode()
        + BEARER + b"\r\n",
        mcp + BEARER + b"\r\n" + body,
    ):  # fmt: skip
        _, writer = await connected(outside)
        writer.write(wire)
        async with outside.client() as other:
            assert (await other.get("/v1/proposals/p1?wait=1")).status_code == 200
        assert len(asyncio.all_tasks()) > before
        writer.close()
        await settled_at(before)
    assert [each for each in caplog.records if each.levelname != "INFO"] == []


@pytest.mark.parametrize("behind", BEHIND)
async def test_who_has_left_is_not_waited_for_although_more_came_behind(
    outside: Outside, behind: bytes
) -> None:
    await outside.world.submits(PROD, proposal_id="p1")
    before = len(asyncio.all_tasks())
    for last in (
        b"\r\n",
        b"Connection: close\r\n\r\n",
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ):
        _, writer = await connected(outside)
        writer.write(WAIT + last)
        await the_door_has_read_what_came(outside)
        writer.write(behind)
        await the_door_has_read_what_came(outside)
        assert len(asyncio.all_tasks()) > before
        writer.close()
        await settled_at(before)


async def test_no_more_is_read_ahead_than_a_little(outside: Outside) -> None:
    """Each connection would take as much memory as its client likes."""
    await outside.world.submits(PROD, proposal_id="p1")
    _, writer = await connected(outside)
    writer.write(WAIT + b"\r\n")
    await the_door_has_read_what_came(outside)
    (door,) = [
        each
        for each in gc.get_objects()
        if type(each) is PromptProtocol and not each.cycle.response_complete
    ]
    writer.write(BEHIND[-1] * 500)
    await the_door_has_read_what_came(outside)
    assert not door.flow.read_paused, "else nobody would hear that it hangs up"
    writer.write(BEHIND[-1] * 5_000)
    async with asyncio.timeout(5):
        while not door.flow.read_paused:
            await the_door_has_read_what_came(outside)
    writer.close()


# -- large messages -------------------------------------------------------------------------


def mcp_wire(token: str, body: bytes, sent: bytes) -> bytes:
    return (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\n"
        b"Accept: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
        % (token.encode(), len(body))
    ) + sent


async def test_large_messages_of_one_sender_wait_for_each_other_and_nobody_else_does(
    outside: Outside,
) -> None:
    small = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    large = small + b" " * 900_000
    _, begun = await connected(outside)
    begun.write(mcp_wire("leila-token", large, small))
    await begun.drain()

    assert (await said(outside, mcp_wire("leila-token", small, small)))[0] == 200
    waits = asyncio.create_task(said(outside, mcp_wire("leila-token", large, large)))
    for _ in range(3):
        assert (await said(outside, mcp_wire("nour-token", large, large)))[0] == 200
    assert not waits.done()
    begun.close()
    assert (await waits)[0] == 200
